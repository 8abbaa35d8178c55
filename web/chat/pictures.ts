/** Pictures from the upstream's hosts, each with a replacement for when it cannot be shown. */
import { isPictureAddress } from "../../src/protocol/picture-hosts.ts";
import { toAddress } from "./address.ts";
import { make } from "./dom.ts";

/** The replacement of a picture: a node, or nothing. */
type Fallback = () => Node | undefined;

/**
 * The picture, or its replacement if the URL is not one of the upstream's hosts. The picture has
 * `data-loaded` once it is there.
 */
export function drawPicture(
  url: string | undefined,
  attributes: Record<string, string | undefined>,
  fallback: Fallback,
): Node | undefined {
  const address = url === undefined ? undefined : toAddress(url);
  if (!address || !isPictureAddress(address)) return fallback();
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

/** A picture that fails at once. */
const NO_PICTURE = "data:,";

/**
 * Gives up the pictures of an element that leaves for good. Until a picture has come or failed, the browser
 * keeps it in memory, and with it the element, however long its host does not answer.
 */
export function giveUpPictures(element: Element | undefined): void {
  // Without a `src`, Chromium would keep one outside the document for as long as the page.
  for (const image of element?.querySelectorAll<HTMLImageElement>("img:not([data-loaded])") ?? [])
    image.src = NO_PICTURE;
}
