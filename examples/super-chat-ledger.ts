/**
 * Writes every stored and every new Super Chat and Super Sticker of a chat as CSV.
 *
 *     npx node examples/super-chat-ledger.ts http://127.0.0.1:8080 demo-stream > ledger.csv
 */
import { chat } from "../client/index.ts"; // with the package installed: "livechat-relay/client"

const [url = "http://127.0.0.1:8080", videoId = "demo-stream"] = process.argv.slice(2);

/** A cell of RFC 4180. Spreadsheets would run a text that begins like a formula. */
function cell(value: string | number): string {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const writeRow = (...values: (string | number)[]) => process.stdout.write(`${values.map(cell).join()}\r\n`);

writeRow("cursor", "time", "author", "currency", "value", "amount", "message");
for await (const m of chat(url, {
  videoId,
  cursor: 0,
  details: true,
  types: ["superchat", "supersticker"],
})) {
  if (m.type === "gap") continue;
  const { publishedAt = "", amount } = m.details;
  writeRow(m.cursor, publishedAt, m.author, amount?.currency ?? "", amount?.value ?? "", m.amount, m.message);
}
