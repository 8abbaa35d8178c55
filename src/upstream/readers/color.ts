/**
 * Converts the upstream's colours from 32-bit ARGB numbers to `#rrggbb`, and derives the tier of a paid
 * message from its colours.
 */
import { asNumber } from "../../base/json.ts";

/** `#rrggbb` of an ARGB number, without its alpha; undefined for anything else. */
export function hexColor(argb: unknown): string | undefined {
  const number = asNumber(argb);
  if (number === undefined || !Number.isInteger(number) || number < 0 || number > 0xffffffff)
    return undefined;
  return `#${(number % 0x1000000).toString(16).padStart(6, "0")}`;
}

/** Colours of the tiers 1 to 7, in a paid message. A sticker's chip has the body colour. */
const TIERS: readonly (readonly [header: string, body: string])[] = [
  ["#1565c0", "#1e88e5"],
  ["#00b8d4", "#00e5ff"],
  ["#00bfa5", "#1de9b6"],
  ["#ffb300", "#ffca28"],
  ["#e65100", "#f57c00"],
  ["#c2185b", "#e91e63"],
  ["#d00000", "#e62117"],
];

/** 1 (blue) to 7 (red); undefined for any other colour. */
export function tierOf(color: string | undefined): number | undefined {
  const index = TIERS.findIndex((colors) => colors.some((known) => known === color));
  return index < 0 ? undefined : index + 1;
}
