/**
 * The cost of an export: `npm run bench -- export [--messages 1000000]` serves this many messages to
 * `livechat-relay export` in a process of its own, in each format, and prints that process's CPU time and
 * peak memory.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { FORMAT_NAMES } from "../../terminal/reader/export-formats.ts";

const { values } = parseArgs({ options: { messages: { type: "string", default: "1000000" } } });
const COUNT = Number(values.messages);
const PER_CHUNK = 200;
const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");
const REPORT = `process.on("exit", () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  console.error(JSON.stringify({ cpuMs: (userCPUTime + systemCPUTime) / 1000, maxMiB: maxRSS / 1024 }));
});`;

/** Like those of a chat: some words, an author with a picture, sometimes a link or an emoji. */
function frame(cursor: number): string {
  const words = ["hello from Lisbon", "gg", "what a play, I cannot believe it", "こんばんは、今日も楽しみ"][
    cursor % 4
  ];
  const details = {
    authorId: `UC${"x".repeat(18)}${cursor % 9000}`,
    authorPhoto: "https://yt4.ggpht.com/ytc/AIdro_abcdefghijklmnopqrstuvwxyz=s64-c-k-c0x00ffffff-no-rj",
    ...(cursor % 5 === 0 && { badges: [{ kind: "member", label: "Member (2 months)" }] }),
    publishedAt: "2026-11-20T20:17:31.123456Z",
    upstreamKind: "liveChatTextMessageRenderer",
  };
  const parts = [{ kind: "text", text: words }];
  const id = `ChwKGkNQ${cursor}`;
  const rest = {
    timestamp: "8:17 PM",
    author: `@viewer-${cursor % 9000}`,
    message: words,
    amount: "",
    color: "",
  };
  const message = { type: "chat", id, ...rest, parts, details };
  return `id: ${cursor}\nevent: message\ndata: ${JSON.stringify(message)}\n\n`;
}

async function serve(response: ServerResponse, from: number): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const init = { videoId: "dQw4w9WgXcQ", chatType: "liveChatRenderer", cursor: from };
  response.write(`event: init\ndata: ${JSON.stringify(init)}\n\n`);
  for (let cursor = from + 1; cursor <= COUNT && !response.destroyed; cursor += PER_CHUNK) {
    const count = Math.min(PER_CHUNK, COUNT - cursor + 1);
    const chunk = Array.from({ length: count }, (_, index) => frame(cursor + index)).join("");
    if (!response.write(chunk)) await new Promise<void>((resolve) => response.once("drain", resolve));
  }
  response.end('event: end\ndata: {"reason":"until"}\n\n');
}

const server = createServer((request, response) => {
  void serve(response, Number(request.headers["last-event-id"] ?? 0));
}).listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

for (const format of FORMAT_NAMES) {
  const args = [`--import=data:text/javascript,${encodeURIComponent(REPORT)}`, MAIN, "export", "dQw4w9WgXcQ"];
  const child = spawn(process.execPath, [...args, "--server", url, "--format", format], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [bytes, errors] = [0, ""];
  child.stdout.on("data", (chunk) => {
    bytes += chunk.length;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    errors += text;
  });
  const [code] = await once(child, "close");
  const report = /^\{.*\}$/m.exec(errors)?.[0];
  if (code !== 0 || !report) throw new Error(`the export ended with ${code}: ${errors}`);
  const { cpuMs, maxMiB } = JSON.parse(report);
  const perCpuSecond = Math.round(COUNT / (cpuMs / 1000));
  console.log({ format, messages: COUNT, megabytes: Math.round(bytes / 1e6), cpuMs, perCpuSecond, maxMiB });
}
server.close();
server.closeAllConnections();
