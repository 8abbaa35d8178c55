/** The URL that the text spells, or undefined. `URL.parse` is too new for the browsers of the pages. */
export function toAddress(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
