/** The settings that the browser remembers, as the first script of the page needs them, too. */

export const THEMES = ["auto", "light", "dark"] as const;

export function remembered(name: string): string | undefined {
  return storage()?.getItem(name) ?? undefined;
}

/** Undefined if the browser forbids storage. */
export function storage(): Storage | undefined {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}
