/**
 * An engine as old as the oldest that the pages support (Chromium 103, which OBS 30 embeds): Chromium without
 * later features, each noted with its version.
 */
import type { Page } from "playwright-core";

/** Functions that are younger, by their place. */
const FUNCTIONS = [
  ["URL", "parse", "canParse"], // 126, 120
  ["Promise", "withResolvers", "try"], // 119, 128
  ["Array", "fromAsync"], // 121
  ["Array.prototype", "toSorted", "toReversed", "toSpliced", "with"], // 110
  [
    "Set.prototype",
    "union",
    "intersection",
    "difference",
    "symmetricDifference",
    "isSubsetOf",
    "isSupersetOf",
  ], // 122
  ["Set.prototype", "isDisjointFrom"], // 122
  ["Object", "groupBy"], // 117
  ["Map", "groupBy"], // 117
  ["Map.prototype", "getOrInsert", "getOrInsertComputed"], // 145
  ["String.prototype", "isWellFormed", "toWellFormed"], // 111
  ["AbortSignal", "any"], // 116
  [
    "Iterator.prototype",
    "map",
    "filter",
    "take",
    "drop",
    "flatMap",
    "reduce",
    "toArray",
    "forEach",
    "some",
    "every",
    "find",
  ], // 122
  ["RegExp", "escape"], // 136
  ["Math", "sumPrecise"], // 147
  ["Uint8Array", "fromBase64", "fromHex"], // 140
  ["Element.prototype", "checkVisibility", "setHTML"], // 105, 146
  ["Document.prototype", "startViewTransition"], // 111
] as const;

/** What a stylesheet can have that is younger: it would be dropped, alone or with its rule. */
const STYLES: Readonly<Record<string, RegExp>> = {
  "nesting (112)": /^\s*(?:&|[.#[:>+~][^;{}]*&)/m,
  "light-dark() (123)": /light-dark\(\s*[^)]/,
  "a range of a media query (104)": /@media[^{]*[<>]/,
  "translate, rotate, scale (104)": /^\s*(?:translate|rotate|scale):/m,
  "units of a dynamic viewport (108)": /\d[dsl]v[hwib]\b/,
  "units of a line (109)": /\dr?lh\b/,
  ":has() (105)": /:has\(/,
  "color-mix() (111)": /color-mix\(/,
  "oklch and the like (111)": /\b(?:ok)?l(?:ch|ab)\(/,
  "container queries (105)": /@container|container-type/,
  "@scope (118)": /@scope/,
  "@starting-style (117)": /@starting-style/,
  "round() and the like (125)": /\b(?:round|mod|rem|abs|sign)\(/,
  "a mask without its prefix (120)": /^\s*mask(?:-[a-z]+)?:/m,
  "alternative text of content (77, but not in every browser)": /content:[^;]*\/ "/,
};
/** Declarations that an old engine drops, and that have another one before them for it. */
const WITH_FALLBACK = [
  /^\s*-webkit-(mask(?:-image)?): ([^;]+);\n\s*\1: \2;$/gm,
  /^\s*content: ([^;]+);\n\s*content: \1 \/ "";$/gm,
];

/** What of a stylesheet the old engine does not know, unless it has a fallback. */
export function tooNewIn(css: string): string[] {
  const rest = WITH_FALLBACK.reduce((text, pair) => text.replaceAll(pair, ""), withoutComments(css));
  return Object.entries(STYLES).flatMap(([what, pattern]) => (pattern.test(rest) ? [what] : []));
}

function withoutComments(css: string): string {
  return css.replaceAll(/\/\*[\s\S]*?\*\//g, "");
}

/** Takes the younger functions from every document that the page opens. */
export async function makeOld(page: Page): Promise<void> {
  await page.addInitScript((functions) => {
    for (const [place, ...names] of functions) {
      const owner = place
        .split(".")
        .reduce((each: unknown, name) => Reflect.get(Object(each), name), globalThis);
      for (const name of names) if (owner) Reflect.deleteProperty(Object(owner), name);
    }
    Reflect.deleteProperty(ReadableStream.prototype, Symbol.asyncIterator); // 124
  }, FUNCTIONS);
}
