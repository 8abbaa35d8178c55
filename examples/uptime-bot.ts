/**
 * Answers `!uptime` on the console. Its cursor is kept in a file, so it resumes there after a restart.
 *
 *     npx node examples/uptime-bot.ts http://127.0.0.1:8080 demo-stream
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { type ChatError, chat } from "../client/index.ts"; // with the package installed: "livechat-relay-client"

const [url = "http://127.0.0.1:8080", videoId = "demo-stream", file = "uptime-bot.cursor"] =
  process.argv.slice(2);
const cursor = existsSync(file) ? Number(readFileSync(file, "utf8")) : undefined;
const began = Date.now();

const fail = ({ message }: Error) => {
  console.error(message);
  process.exit(1);
};
process.stdout.on("error", fail); // its reader has left

const retry = ({ message, isFinal }: ChatError) => void (isFinal || console.error(message, "Trying again."));
const room = chat(url, { videoId, cursor, backfill: 0, types: ["chat"], retry });
room.on("error", fail);
room.on("gap", ({ after }) => console.error(`Messages may be missing after ${after}.`));
const keep = () => {
  writeFileSync(`${file}.new`, String(room.cursor));
  renameSync(`${file}.new`, file); // whole or not at all, whenever the bot is killed
};
room.on("init", keep); // a restart before the first message resumes here
for await (const { author, message } of room) {
  if (/^!uptime\b/.test(message)) {
    const minutes = Math.floor((Date.now() - began) / 60_000);
    console.log(`@${author.replace(/^@/, "")} The bot has been up for ${minutes} min.`);
  }
  // For answers of a language model, send `message` to its provider here.
  keep(); // after the answer: a crash in between repeats it instead of losing it
}
