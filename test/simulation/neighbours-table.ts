/**
 * How one party's trouble affects the others, in virtual time: prints the table of docs/reliability.md.
 *
 *     npm run simulate -- neighbours
 */
import { beside, NEIGHBOURS } from "./neighbours.ts";

const columns = [
  "beside 20 live chats",
  "lost of theirs",
  "gaps",
  "longest time without an answer",
  "a newcomer waits",
];
process.stdout.write(`| ${columns.join(" | ")} |\n|${"---|".repeat(columns.length)}\n`);
for (const [name, neighbour] of Object.entries(NEIGHBOURS)) {
  const { lost, gaps, longestMs, newcomer } = await beside(neighbour);
  const waited = typeof newcomer === "number" ? `${(newcomer / 1000).toFixed(1)} s` : newcomer;
  process.stdout.write(`| ${name} | ${lost} | ${gaps} | ${(longestMs / 1000).toFixed(1)} s | ${waited} |\n`);
}
