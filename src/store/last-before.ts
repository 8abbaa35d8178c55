/** The binary search for a place in a room's log. It asks once for each halving of the range. */

/**
 * The last cursor in the range for which `isBefore` holds, or `floor` if there is none. `isBefore` must hold
 * up to some cursor and not after it; if it changes more often, the result is one of the cursors where it
 * changes.
 */
export function lastBefore(
  { floor, head }: { floor: number; head: number },
  isBefore: (cursor: number) => boolean,
): number {
  let [low, high] = [floor, head];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (isBefore(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
