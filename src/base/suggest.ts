/** Suggests the known word nearest to a misspelt one. */

/** The maximum length of a name that strangers send, and that is looked up and quoted in an error. */
export const MAX_NAME_LENGTH = 100;

/**
 * `; did you mean serve?` for `srve`; "" if no known word is near. The beginning of a known word counts as
 * near, however long the rest of that word is. Otherwise, a third of the letters may be wrong, rounded up and
 * without counting `RELAY_` or `--`, and small letters count as capitals.
 */
export function suggest(unknown: string, known: readonly string[]): string {
  const limit = Math.ceil(unknown.replace(/^RELAY_|^--/, "").length / 3);
  const [nearest] = known
    .map((name) => ({
      name,
      distance: name.startsWith(unknown) ? 1 : editDistance(unknown.toLowerCase(), name.toLowerCase()),
    }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance);
  return nearest ? `; did you mean ${nearest.name}?` : "";
}

/** The end of a sentence about an unknown word: the known word near it, or else all of them. */
export function suggestOrList(unknown: string, known: readonly string[]): string {
  if (known.length === 0) return ".";
  return suggest(unknown, known) || `; use one of ${known.join(", ")}.`;
}

/** Whether a word differs from another one by case, or by one letter more, less, other, or swapped. */
export function isOneSlip(word: string, other: string): boolean {
  const [one, two] = [word.toLowerCase(), other.toLowerCase()];
  if (editDistance(one, two) <= 1) return true;
  if (one.length !== two.length) return false;
  const at = [...one].findIndex((letter, index) => letter !== two[index]);
  const [first = "", second = ""] = one.slice(at);
  return one.slice(0, at) + second + first + one.slice(at + 2) === two;
}

/** The minimum number of letters to insert, remove or replace to turn one word into the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...from].entries()) {
    const above = row;
    row = [i + 1];
    for (const [j, other] of [...to].entries()) {
      const changed = (above[j] ?? 0) + (letter === other ? 0 : 1);
      row.push(Math.min(changed, (above[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1));
    }
  }
  return row.at(-1) ?? 0;
}
