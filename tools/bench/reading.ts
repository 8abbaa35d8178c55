/**
 * The cost of reading the upstream's answers, from an answer's text to its messages: in multiples of
 * `JSON.parse` of the same text, and next to youtubei.js and masterchat if installed. CPU time of this
 * process.
 *
 *     npm run bench -- reading [FILE ...]        recorded answers or lists of actions, not generated ones
 *     npm ci --prefix tools/bench/peers                once, for the two
 */
import { readFileSync } from "node:fs";
import { startSimulator } from "../../simulator/index.ts";
import { asArray, asObject } from "../../src/base/json.ts";
import { readChatAnswer } from "../../src/upstream/answer.ts";
import { readActions } from "../../src/upstream/readers/actions.ts";
import { timeOfDay } from "../../src/upstream/readers/timestamp.ts";
import { type Figures, inRounds, median, ratio, report } from "./rounds.ts";

const UTC = timeOfDay("UTC");
const ROUND_BYTES = 20_000_000;

const REQUEST = { method: "POST", url: "https://upstream.example/", headers: {} } as const;

function read(text: string): void {
  const receivedAt = Date.now();
  const raw = { status: 200, text, receivedAt, tookMs: 0, header: () => undefined };
  const answer = readChatAnswer(raw, REQUEST);
  if (answer.kind === "no chat") return;
  readActions(answer.actions, { receivedAt, timeOfDay: UTC, mutations: answer.mutations });
}

type Reader = (text: string) => unknown;

/** From text to their own objects; undefined if one is not installed. */
const PEERS: Record<string, () => Promise<Reader | undefined>> = {
  Youtubei: async () => {
    const { Parser, Log } = await peerModule("youtubei.js/dist/src/platform/node.js");
    Log?.setLevel(Log.Level.NONE);
    return Parser && ((text) => Parser.parseResponse(JSON.parse(text)));
  },
  /** It reads while it fetches, so its HTTP client is replaced by the answers. */
  Masterchat: async () => {
    const { Masterchat } = await peerModule("@stu43005/masterchat/lib/masterchat.mjs");
    if (!Masterchat) return undefined;
    let data: unknown;
    const axiosInstance = { request: async () => ({ data }) };
    const chat = new Masterchat("bench-read1", "UC0", { mode: "live", axiosInstance });
    return (text) => {
      data = JSON.parse(text);
      return chat.fetch("token");
    };
  },
};

// biome-ignore lint/suspicious/noExplicitAny: foreign, and only there where it was installed
async function peerModule(path: string): Promise<any> {
  return import(new URL(`./peers/node_modules/${path}`, import.meta.url).href).catch(() => ({}));
}

async function cpuMs(texts: readonly string[], act: Reader): Promise<number> {
  const bytes = texts.reduce((sum, { length }) => sum + length, 0);
  const before = process.cpuUsage();
  for (let done = 0; done < ROUND_BYTES; done += bytes) {
    for (const text of texts) {
      const read = act(text);
      if (read instanceof Promise) await read;
    }
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

async function measure(answers: string, texts: readonly string[]): Promise<Figures> {
  const readers: Record<string, Reader> = { parse: JSON.parse, read, ...peers };
  for (const act of Object.values(readers)) await cpuMs(texts, act); // warm
  const measured = await inRounds(
    Object.fromEntries(Object.entries(readers).map(([name, act]) => [name, () => cpuMs(texts, act)])),
  );
  const { parse = [], read: own = [] } = measured;
  const bytes = texts.reduce((sum, { length }) => sum + length, 0);
  const count = Math.ceil(ROUND_BYTES / bytes) * texts.length;
  return {
    answers,
    toParse: ratio(own, parse),
    microsAnAnswer: (median(own) * 1000) / count,
    ...Object.fromEntries(Object.keys(peers).map((name) => [`to${name}`, ratio(own, measured[name] ?? [])])),
  };
}

function answerOf(actions: readonly unknown[]): string {
  const continuation = { timeoutMs: 10_000, continuation: "c".repeat(300) };
  const liveChatContinuation = {
    continuations: [{ invalidationContinuationData: continuation }],
    actions,
  };
  return JSON.stringify({ responseContext: {}, continuationContents: { liveChatContinuation } });
}

async function generated(actionsEach: number, answers: number): Promise<string[]> {
  await using upstream = await startSimulator({ seed: 1 });
  const chat = upstream.chat("bench-read1", {});
  chat.say(actionsEach * answers);
  const actions = chat.ledger.map(({ action }) => action);
  return Array.from({ length: answers }, (_, i) =>
    answerOf(actions.slice(i * actionsEach, (i + 1) * actionsEach)),
  );
}

/**
 * The answers in recorded files. Names and skips each file that is neither an answer with a chat nor a list
 * of actions.
 */
function recorded(files: readonly string[]): string[] {
  return files.flatMap((file) => {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    const actions = asArray(value);
    if (actions) return answerOf(actions);
    if (asObject(value)?.continuationContents) return JSON.stringify(value);
    console.log(`${file}: no answer with a chat, left out`);
    return [];
  });
}

const peers: Record<string, Reader> = {};
for (const [name, load] of Object.entries(PEERS)) {
  const peer = await load();
  if (peer) peers[name] = peer;
  else console.log(`${name} is not installed (npm ci --prefix tools/bench/peers): not measured.`);
}
const files = process.argv.slice(2);
const rows =
  files.length > 0
    ? [await measure("recorded", recorded(files))]
    : [
        await measure("100 actions", await generated(100, 50)),
        await measure("5 actions", await generated(5, 200)),
        await measure("no action", await generated(0, 1)),
      ];
report(files.length > 0 ? "reading-recorded" : "reading", rows);
