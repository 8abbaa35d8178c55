/** The ids with this prefix. `ids` are in order. */
export function withPrefix(ids: readonly string[], prefix: string): string[] {
  let [start, above] = [0, ids.length];
  while (start < above) {
    const middle = (start + above) >>> 1;
    if ((ids[middle] ?? "") < prefix) start = middle + 1;
    else above = middle;
  }
  let end = start;
  while (ids[end]?.startsWith(prefix)) end += 1;
  return ids.slice(start, end);
}
