/** The SDK as one module, in every runtime that it is for, on a real service over real connections. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { toBrowserModule } from "../../src/http/browser-modules.ts";
import { Line, portOf } from "../chaos/line.ts";
import { launchChromium, NO_CHROMIUM } from "../support/browser.ts";
import { startRelay, type TestRelay } from "../support/relay.ts";
import { outputOf, RUNTIMES } from "../support/runtimes.ts";
import { SECRET, signedAtOnce } from "../support/tokens.ts";
import { type Act, CASES, TRANSPORTS } from "../unit/client/suite.ts";

const SUITE = toBrowserModule(new URL("../unit/client/suite.ts", import.meta.url), (path) => path);

type Chat = ReturnType<TestRelay["upstream"]["chat"]>;
type Channel = ReturnType<TestRelay["upstream"]["channel"]>;

let relay: TestRelay;
/** Another service on the same upstream, where nothing is public. */
let guarded: TestRelay;
/** The way to the service. */
let line: Line;
let stage: string;
const chats = new Map<string, Chat>();
const channels = new Map<string, Channel>();

const ACTS: Record<Act, (chat: Chat, count: number) => unknown> = {
  say: (chat, count) => chat.say(count),
  cut: () => line.cut(),
  expire: (chat) => chat.expireTokens(),
  end: (chat) => chat.end("seek-only"),
  token: ({ videoId }) => [
    signedAtOnce({ exp: Math.ceil(Date.now() / 1000) + 2, relay: [`watch:${videoId}`] }),
  ],
};

function channelOf(handle: string): Channel {
  const channel = channels.get(handle) ?? relay.upstream.channel(handle);
  channels.set(handle, channel);
  return channel;
}

/** Opens a chat of its own for each case, does what the case asks of it, and serves the suite to browsers. */
function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://stage");
  const act = pathname.slice(1);
  if (request.method === "GET") {
    const [type, body] = act === "suite.js" ? ["text/javascript", SUITE] : ["text/html", "<!doctype html>"];
    response.setHeader("content-type", type).end(body);
  } else if (act === "open") {
    const videoId = `stage-${String(chats.size).padStart(5, "0")}`;
    const channel = searchParams.get("channel") ?? `@${videoId}`;
    const chat = { kinds: ["paid", "membership"], timeoutMs: 5 } as const;
    chats.set(videoId, channelOf(channel).broadcast(videoId, { chat }).chat);
    response.end(JSON.stringify({ service: line.url, guarded: guarded.url, videoId, channel }));
  } else {
    const chat = chats.get(searchParams.get("videoId") ?? "") ?? assert.fail("no chat");
    const said = ACTS[act as Act](chat, Number(searchParams.get("count")));
    response.end(JSON.stringify(said ?? []));
  }
}

const site = createServer(answer);
before(async () => {
  relay = await startRelay({ settings: { RELAY_CHANNEL_MS: "1000" } });
  const settings = { RELAY_PUBLIC: "none", RELAY_TOKEN_KEY: SECRET };
  guarded = await startRelay({ upstream: relay.upstream, settings });
  line = await Line.to(Number(new URL(relay.url).port));
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  stage = `http://127.0.0.1:${portOf(site)}`;
});
after(async () => {
  site.close();
  site.closeAllConnections();
  await line[Symbol.asyncDispose]();
  await guarded[Symbol.asyncDispose]();
  await relay[Symbol.asyncDispose]();
});

/** `play` resolves to the failure of each case, by transport. */
function passes(name: string, skip: string | false, play: () => Promise<[...string[]][]>): void {
  describe(`the SDK in ${name}`, { skip }, () => {
    let failures: Map<string, string | undefined>;
    before(async () => {
      failures = new Map((await play()).map(([by, what, failure]) => [`${by} ${what}`, failure]));
    });
    for (const by of TRANSPORTS)
      for (const what of Object.keys(CASES))
        it(`by ${by} ${what}`, () => assert.equal(failures.get(`${by} ${what}`), ""));
  });
}

for (const runtime of RUNTIMES) {
  passes(runtime.name, runtime.skip, async () => {
    const folder = await mkdtemp(join(tmpdir(), "sdk-runtime-"));
    try {
      const sdk = await fetch(`${relay.url}/client.js`).then((response) => response.text());
      const script = `import * as sdk from "./client.mjs";
        import { suite } from "./suite.mjs";
        for await (const result of suite(sdk, "${stage}")) console.log(JSON.stringify(result));`;
      for (const [file, text] of Object.entries({ client: sdk, suite: SUITE, script }))
        await writeFile(join(folder, `${file}.mjs`), text);
      for (const later of ["client-log.js", "client-poll.js", "client-history.js"]) {
        const response = await fetch(`${relay.url}/${later}`);
        await writeFile(join(folder, later), await response.text());
      }
      await writeFile(join(folder, "package.json"), '{"type":"module"}');
      const lines = (await outputOf(runtime, folder, "script.mjs")).trimEnd().split("\n");
      return lines.map((line) => JSON.parse(line));
    } finally {
      await rm(folder, { recursive: true });
    }
  });
}

passes("Chromium", NO_CHROMIUM, async () => {
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    await page.goto(stage);
    return await page.evaluate(`(async () => {
      const [sdk, { suite }] = await Promise.all([import("${relay.url}/client.js"), import("/suite.js")]);
      return Array.fromAsync(suite(sdk, location.origin));
    })()`);
  } finally {
    await browser.close();
  }
});
