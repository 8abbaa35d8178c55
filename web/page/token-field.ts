/**
 * The field for a token, which the page has once the service has refused a chat for want of one. The page
 * keeps the token in memory alone.
 */
import { find, make } from "../chat/dom.ts";
import { loadAgain } from "./own-service.ts";

const ASKING: ReadonlySet<string> = new Set(["UNAUTHORIZED", "FORBIDDEN"]);

/** `code`: that of the error of the page's chat, if it has one. */
export function offerToken(code = ""): void {
  const form = find("#open", HTMLFormElement);
  const known = form.querySelector("input[name=token]");
  if (!ASKING.has(code)) known?.remove();
  if (!ASKING.has(code) || known) return;
  const attributes = { name: "token", type: "password", autocomplete: "off", placeholder: "Token" };
  const field = make("input", { ...attributes, "aria-label": "Token" });
  find("button", HTMLButtonElement, form).before(field);
  const send = (): void => {
    const { value } = field;
    // Once the page has written the names of the chats into its address.
    if (field.isConnected && value !== "") setTimeout(() => loadAgain(value));
  };
  form.addEventListener("submit", send, { capture: true });
}
