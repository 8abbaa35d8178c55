/** Base64 as the upstream writes it: with or without padding, in either alphabet, often escaped for a URL. */

/** The decoded bytes, each as a character. */
export function base64Text(text: string): string {
  const unescaped = text.replaceAll(/%([\dA-F]{2})/gi, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(unescaped, "base64").toString("latin1");
}
