/**
 * The upstream's colours, which are 32-bit ARGB numbers, as `#rrggbb`; and the tier of a paid message, which the
 * colour of its header shows.
 */
import { asNumber } from "../../json.ts";

/** `#rrggbb` of an ARGB number, its alpha dropped; undefined for anything else. */
export function hexColor(argb: unknown): string | undefined {
  const number = asNumber(argb);
  if (number === undefined || !Number.isInteger(number) || number < 0 || number > 0xffffffff)
    return undefined;
  return `#${(number % 0x1000000).toString(16).padStart(6, "0")}`;
}

/** Colours of the tiers 1 to 7: of a paid message's header and of its body, which is what a sticker's chip has. */
const TIERS: readonly (readonly [header: string, body: string])[] = [
  ["#1565c0", "#1e88e5"],
  ["#00b8d4", "#00e5ff"],
  ["#00bfa5", "#1de9b6"],
  ["#ffb300", "#ffca28"],
  ["#e65100", "#f57c00"],
  ["#c2185b", "#e91e63"],
  ["#d00000", "#e62117"],
];

/** 1 (blue) to 7 (red); undefined for a colour of no tier. */
export function tierOf(color: string | undefined): number | undefined {
  const index = TIERS.findIndex((colors) => colors.some((known) => known === color));
  return index < 0 ? undefined : index + 1;
}
