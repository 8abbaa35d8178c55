/** The settings that the browser remembers, as the first script of the page needs them, too. */

export const THEMES = ["auto", "light", "dark"] as const;

export function remembered(name: string): string | undefined {
  return storage()?.getItem(name) ?? undefined;
}

export function remember(name: string, value: string): void {
  try {
    storage()?.setItem(name, value);
  } catch {
    // The storage is full: the page works on, and forgets at the next load.
  }
}

/** Undefined if the browser forbids storage. */
function storage(): Storage | undefined {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}
