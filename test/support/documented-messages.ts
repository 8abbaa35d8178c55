/** The documentation's examples: one message of each type. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Message } from "../../src/protocol/message.ts";

const DOCS = join(import.meta.dirname, "../../docs/messages.md");

export function documentedMessages(): Message[] {
  const examples = readFileSync(DOCS, "utf8").matchAll(/^### `\w+`\n\n```json\n(.*?)\n```$/gms);
  return [...examples].map(([, json = ""]) => JSON.parse(json));
}
