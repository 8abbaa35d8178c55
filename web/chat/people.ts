/**
 * Lists of authors and words, as `hide` and `mark` have them: names (with or without `@`), channel ids, and
 * `/patterns/`, which are looked for in the author's name, with and without its `@`, and in the words, with
 * links as they are shown and whole.
 */

import { foldCase } from "../../src/protocol/fold-case.ts";
import { wholeText } from "../../src/protocol/whole-text.ts";
import { Budget, compile } from "./pattern.ts";
import type { ShownMessage } from "./shown-message.ts";

const MAX_ITEMS = 200;
/** An item: a pattern, which may contain commas, or everything up to the next comma. */
const ITEM = /\s*(\/(?:\\.|[^\\/])+\/(?=\s*(?:,|$))|[^,]+)/g;

/** Whether a list names the message's author or words. Reports and ignores items that cannot be used. */
export function readPeople(
  list: string,
  report: (item: string, why: string) => void,
): (message: ShownMessage) => boolean {
  const items = [...list.matchAll(ITEM)].map(([, item = ""]) => item.trim()).filter((item) => item !== "");
  for (const item of items.splice(MAX_ITEMS)) report(item, `only the first ${MAX_ITEMS} count`);
  const [names, ids] = [new Set<string>(), new Set<string>()];
  const patterns: ((text: string) => boolean)[] = [];
  const budget = new Budget();
  for (const item of items) {
    if (/^\/.+\/$/.test(item)) {
      try {
        patterns.push(compile(item.slice(1, -1), budget));
      } catch (error) {
        report(item, error instanceof Error ? error.message : String(error));
      }
    } else if (bareName(item) === "") report(item, "it names nobody");
    else {
      names.add(bareName(item));
      ids.add(item);
    }
  }
  return ({ author, message, parts, details }) =>
    (author !== "" && names.has(bareName(author))) ||
    ids.has(details.authorId ?? "") ||
    patterns.some(
      (isIn) =>
        isIn(author) ||
        (author.startsWith("@") && isIn(author.slice(1))) ||
        isIn(message) ||
        isIn(wholeText({ message, parts })),
    );
}

function bareName(author: string): string {
  return foldCase(author.trim()).replace(/^@/, "");
}
