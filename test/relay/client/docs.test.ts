/** docs/sdk.md and the examples: the page has every name, and every example runs. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { parseSync } from "oxc-parser";
import { ChatError, GROUPS } from "../../../client/index.ts";
import { paidAction } from "../../support/chat-actions.ts";
import { adding, COMMON, PAID } from "../../support/chat-items.ts";
import { eventually, PATIENCE_MS } from "../../support/eventually.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { temporaryFile } from "../../support/store-subject.ts";

const ROOT = join(import.meta.dirname, "../../..");
const VIDEO = "dQw4w9WgXcQ";
const read = (file: string): string => readFileSync(resolve(ROOT, file), "utf8");

/** The names that the module exports, and the members of its interfaces. */
function namesIn(): { exported: string[]; members: string[] } {
  const { module } = parseSync("index.ts", read("client/index.ts"));
  const entries = module.staticExports.flatMap((statement) => statement.entries);
  const members = [...read("client/types.ts").matchAll(/^ {2}(?:readonly )?(\w+)\??[:(<]/gm)];
  return {
    exported: entries.map(({ exportName }) => exportName.name ?? ""),
    members: members.map(([, name = ""]) => name),
  };
}

describe("docs/sdk.md", () => {
  const page = read("docs/sdk.md");
  const { exported, members } = namesIn();
  const { code, message, status, retryAfterMs } = new ChatError("HTTP", "m", {
    status: 502,
    retryAfterMs: 1,
  });
  const fields = Object.keys({ code, message, status, retryAfterMs });
  for (const name of new Set([...exported, ...members, ...fields, ...Object.keys(GROUPS)])) {
    it(`names ${name}`, () => assert.match(page, new RegExp(`\\b${name}\\b`)));
  }
});

/** Says it as the next message of the chat. */
function says(text: string) {
  const message = { runs: [{ text }] };
  return adding({ liveChatTextMessageRenderer: { ...COMMON, id: `says ${text}`, message } });
}

class Script {
  readonly child: ChildProcess;
  out = "";
  error = "";
  constructor(file: string, ...args: string[]) {
    this.child = spawn(process.execPath, [join(ROOT, file), ...args], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text) => {
      this.error += text;
    });
    this.child.stdout?.setEncoding("utf8").on("data", (text) => {
      this.out += text;
    });
  }

  async printed(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.out)) {
      assert.equal(this.child.exitCode, null, `it ended after: ${this.out}${this.error}`);
      if (this.child.stdout)
        await once(this.child.stdout, "data", { signal: AbortSignal.timeout(PATIENCE_MS) });
    }
  }

  async ended(): Promise<number> {
    const [code] = this.child.exitCode === null ? await once(this.child, "close") : [this.child.exitCode];
    return code;
  }
}

const startChat = async (): Promise<[TestRelay, ReturnType<TestRelay["upstream"]["chat"]>]> => {
  const relay = await startRelay();
  return [relay, relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5 })];
};

describe("the examples", () => {
  it("include a bot that answers, and after a restart answers each missed message once", async (t) => {
    const [relay, chat] = await startChat();
    await using _ = relay;
    const file = await temporaryFile(t);
    chat.say([says("hello")]);
    const bot = new Script("examples/uptime-bot.ts", relay.url, VIDEO, file);
    await eventually(true, () => existsSync(file));
    const before = read(file);
    chat.say([says("!uptime 1")]);
    await bot.printed(/up for 0 min/);
    await eventually(true, () => read(file) !== before);
    bot.child.kill("SIGKILL");
    await bot.ended();
    chat.say([says("!uptime 2"), says("!uptimes"), says("!uptime 3")]);
    const again = new Script("examples/uptime-bot.ts", relay.url, VIDEO, file);
    await again.printed(/up for.*up for/s);
    chat.end("seek-only");
    assert.equal(await again.ended(), 0);
    assert.equal(again.out, "@somebody The bot has been up for 0 min.\n".repeat(2));
  });

  it("include a ledger of Super Chats as CSV", async () => {
    const [relay, chat] = await startChat();
    await using _ = relay;
    const paid = { ...PAID.liveChatPaidMessageRenderer, message: { runs: [{ text: '=1+1, "two";=2' }] } };
    chat.say([says("hello"), adding({ liveChatPaidMessageRenderer: paid })]);
    const ledger = new Script("examples/super-chat-ledger.ts", relay.url, VIDEO);
    await ledger.printed(/two/);
    chat.end("seek-only");
    assert.equal(await ledger.ended(), 0);
    const [head, row] = ledger.out.split("\r\n");
    assert.equal(head, "cursor,time,author,currency,value,amount,message");
    const cells = `2026-01-02T03:04:05.678901Z,@somebody,TWD,1500,"NT$1,500.00","'=1+1, ""two"";'=2"`;
    assert.equal(row?.replace(/^\d+,/, ""), cells);
  });

  const SCRIPTS = ["examples/uptime-bot.ts", "examples/super-chat-ledger.ts"];
  for (const file of SCRIPTS) {
    it(`include ${file}, which ends in one line if the service refuses`, async (t) => {
      await using relay = await startRelay();
      const script = new Script(file, relay.url, "no-id", await temporaryFile(t));
      assert.equal(await script.ended(), 1);
      assert.match(script.error, /^videoId [^\n]+\n$/);
    });

    it(`include ${file}, which ends in at most one line if its reader leaves`, async (t) => {
      const [relay, chat] = await startChat();
      await using _ = relay;
      const script = new Script(file, relay.url, VIDEO, await temporaryFile(t));
      script.child.stdout?.destroy();
      let said = 0;
      const saying = setInterval(() => {
        said += 1;
        chat.say([says(`!uptime ${said}`), paidAction(`paid-${said}`, "$5.00")]);
      }, 50);
      assert.equal(await script.ended(), 1);
      clearInterval(saying);
      assert.match(script.error, /^([^\n]* EPIPE\n)?$/);
    });
  }

  it("are as short as they claim", () => {
    for (const page of ["examples/page.html", "examples/seven-chats.html"])
      assert.ok(read(page).trimEnd().split("\n").length <= 20, page);
  });
});

it("docs/sdk.md has a test of a bot, without a service, that runs", async (t) => {
  const page = read("docs/sdk.md");
  const samples = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);
  const sample = samples.find((code) => code.includes("http://relay.test")) ?? assert.fail("no sample");
  const file = `${await temporaryFile(t)}.ts`;
  writeFileSync(file, sample.replace("livechat-relay-client", join(ROOT, "client/index.ts")));
  const ran = spawnSync(process.execPath, [file], { encoding: "utf8" });
  assert.equal(ran.stdout, "hello,!uptime\n", ran.stderr);
});
