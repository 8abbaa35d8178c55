/**
 * Writes every stored and every new Super Chat and Super Sticker of a chat as CSV.
 *
 *     npx node examples/super-chat-ledger.ts http://127.0.0.1:8080 demo-stream > ledger.csv
 */
import { chat } from "../client/index.ts"; // with the package installed: "livechat-relay-client"

const [url = "http://127.0.0.1:8080", videoId = "demo-stream"] = process.argv.slice(2);

/**
 * The places in a text where a spreadsheet would begin a formula: at its start, but not of a handle, and
 * after a character that some spreadsheets take for the end of a cell.
 */
const FORMULA =
  /^(?!@[\p{L}\p{M}\p{N}._-]+$)(?=[=+\-@＝＋－＠﹦﹢﹣﹫\t\r\n;])|(?=[=+\-@＝＋－＠﹦﹢﹣﹫])(?<=[\t\r\n;][ "]*)/gu;

/** A cell of RFC 4180, with a `'` before each formula. */
function cell(value: string | number): string {
  const text = typeof value === "string" ? value.replace(FORMULA, "'") : String(value);
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const writeRow = (...values: (string | number)[]) => process.stdout.write(`${values.map(cell).join()}\r\n`);

const fail = ({ message }: Error) => {
  console.error(message);
  process.exit(1);
};
process.stdout.on("error", fail); // its reader has left

writeRow("cursor", "time", "author", "currency", "value", "amount", "message");
const room = chat(url, { videoId, cursor: 0, details: true, types: ["superchat", "supersticker"] });
room.on("error", fail);
for await (const m of room) {
  if (m.type === "gap") continue;
  const { publishedAt = "", amount } = m.details;
  writeRow(m.cursor, publishedAt, m.author, amount?.currency ?? "", amount?.value ?? "", m.amount, m.message);
}
