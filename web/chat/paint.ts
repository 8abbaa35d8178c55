/**
 * Colours of paid rows: the upstream's colour as background, with the text colour (black or white) that
 * contrasts more. They are custom properties, so that any rule of a user's stylesheet overrides them.
 */
import type { ShownMessage } from "./shown-message.ts";

const HEX = /^#[0-9a-f]{6}$/i;

/**
 * Sets `--paid-body`, `--paid-header` and their text colours, or removes them if the message has no colour.
 * Returns whether the message has a colour.
 */
export function paint(element: HTMLElement, { color, details }: ShownMessage): boolean {
  const { colors = {} } = details;
  const body = [colors.body, color, colors.header].find(isColor);
  const header = [colors.header, body].find(isColor);
  element.toggleAttribute("data-painted", body !== undefined);
  const properties = {
    "--paid-body": body,
    "--paid-body-text": body && contrastingText(body),
    "--paid-header": header,
    "--paid-header-text": header && contrastingText(header),
  };
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined) element.style.removeProperty(name);
    else element.style.setProperty(name, value);
  }
  return body !== undefined;
}

function isColor(value: string | undefined): value is string {
  return value !== undefined && HEX.test(value);
}

/** Black or white: the one with the higher WCAG 2 contrast. */
function contrastingText(background: string): "#000000" | "#ffffff" {
  const light = luminance(background);
  return (light + 0.05) / 0.05 > 1.05 / (light + 0.05) ? "#000000" : "#ffffff";
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
