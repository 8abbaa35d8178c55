/**
 * Text of any code points, for properties. The library's own units beyond ASCII set up a table of all of
 * Unicode, which takes a process a second.
 */
import fc from "fast-check";

/** One code point, as text: anything but half of a surrogate pair. */
export const codePoint = fc
  .oneof(fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((point) => String.fromCodePoint(point), pointOf);

/** With it, the library also draws texts such as `__proto__`, which it must find to be of these units. */
function pointOf(text: unknown): number {
  const [first = "", ...more] = typeof text === "string" ? text : "";
  if (first === "" || more.length > 0) throw new Error("not one code point");
  return first.codePointAt(0) ?? 0;
}

/** Beyond ASCII, scripts with many signs of several code points, or of another length in lower case. */
const SCRIPTS = [
  { min: 0x20, max: 0x7e },
  { min: 0xc0, max: 0x24f }, // Latin
  { min: 0x370, max: 0x3ff }, // Greek
  { min: 0x1e00, max: 0x1fff },
  { min: 0xac00, max: 0xd7a3 }, // Hangul
];
/** A sign as people read it, composed or as its parts. */
export const sign = fc
  .tuple(fc.oneof(...SCRIPTS.map((range) => fc.integer(range))), fc.constantFrom("NFC", "NFD"))
  .map(([point, form]) => String.fromCodePoint(point).normalize(form));

export const anyText = fc.string({ unit: codePoint });

const percentEncoded = codePoint.map((text) => Buffer.from(text).toString("hex").replace(/../g, "%$&"));
const plain = fc.constantFrom(..."abcXYZ019-._~!$&'()*+,;=:@");
/** A part of a URL between two slashes. */
const segment = fc.string({
  unit: fc.oneof({ weight: 10, arbitrary: plain }, { weight: 1, arbitrary: percentEncoded }),
});
export const urlPath = fc.array(segment).map((segments) => segments.map((each) => `/${each}`).join(""));
