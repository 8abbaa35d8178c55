/** Pictures from the upstream's hosts, each with a replacement for when it cannot be shown. */
import { toAddress } from "./address.ts";
import { make } from "./element.ts";

/** The replacement of a picture: a node, or nothing. */
type Fallback = () => Node | undefined;

/**
 * The picture, or its replacement if the URL is not https. The picture has `data-loaded` once it is there.
 */
export function drawPicture(
  url: string | undefined,
  attributes: Record<string, string | undefined>,
  fallback: Fallback,
): Node | undefined {
  const address = url === undefined ? undefined : toAddress(url);
  if (address?.protocol !== "https:") return fallback();
  const image = make("img", { decoding: "async", draggable: "false", ...attributes });
  image.alt = attributes.alt ?? "";
  image.addEventListener("load", () => image.setAttribute("data-loaded", ""));
  image.addEventListener("error", () => {
    const instead = fallback();
    if (instead) image.replaceWith(instead);
    else image.remove();
  });
  image.src = address.href;
  return image;
}
