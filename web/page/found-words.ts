/** Marks the words that a search has found, as `foldCase` compares them. */
import { foldCase } from "../../src/protocol/fold-case.ts";
import { make } from "../chat/dom.ts";

/** A character with its marks: what the folding of one does not depend on others. */
const CHARACTERS = /[^\p{M}]\p{M}*|\p{M}+/gsu;

/** The text in parts: those that were found are marked. `sought`: folded, not empty. */
export function withMarks(text: string, sought: string): (string | HTMLElement)[] {
  if (!foldCase(text).includes(sought)) return [text];
  let folded = "";
  /** The place in the text of each place in the folded text. */
  const places: number[] = [];
  for (const { 0: character, index } of text.matchAll(CHARACTERS)) {
    folded += foldCase(character);
    while (places.length < folded.length) places.push(index);
  }
  places.push(text.length);
  const parts: (string | HTMLElement)[] = [];
  let done = 0;
  for (let at = folded.indexOf(sought); at >= 0; at = folded.indexOf(sought, at + sought.length)) {
    const [from = 0, last = 0] = [places[at], places[at + sought.length - 1]];
    const to = places.find((place) => place > last) ?? text.length;
    if (from < done) continue;
    parts.push(text.slice(done, from), make("mark", {}, text.slice(from, to)));
    done = to;
  }
  return [...parts, text.slice(done)].filter((part) => part !== "");
}

/** Marks them in an author's name and words, which stay the same text. */
export function markFound(row: Element, sought: string): void {
  for (const field of row.querySelectorAll("[data-field=author], [data-field=message]")) {
    const walker = document.createTreeWalker(field, NodeFilter.SHOW_TEXT);
    const texts: Text[] = [];
    while (walker.nextNode()) texts.push(walker.currentNode as Text);
    for (const text of texts) {
      const parts = withMarks(text.data, sought);
      if (parts.length > 1 || typeof parts[0] !== "string") text.replaceWith(...parts);
    }
  }
}
