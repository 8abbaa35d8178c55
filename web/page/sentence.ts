/** The service's own message, as a sentence. */
export function sentence(message: string): string {
  return message.replace(/\.?$/, ".");
}
