/** Pictures from the upstream's hosts, each with a text that takes its place where it cannot be shown. */
import { make } from "./element.ts";

/** What stands for a picture: a node, or nothing. */
type Fallback = () => Node | undefined;

/** The picture, or what stands for it where its URL is not https. */
export function drawPicture(
  url: string | undefined,
  attributes: Record<string, string | undefined>,
  fallback: Fallback,
): Node | undefined {
  const address = url === undefined ? null : URL.parse(url);
  if (address?.protocol !== "https:") return fallback();
  const image = make("img", { decoding: "async", draggable: "false", ...attributes });
  image.alt = attributes.alt ?? "";
  image.addEventListener("error", () => {
    const instead = fallback();
    if (instead) image.replaceWith(instead);
    else image.remove();
  });
  image.src = address.href;
  return image;
}
