/**
 * Every command that the documents print, run as it stands, block by block, in a folder of its own; those of
 * the README in their order, in a fresh clone. docs/api.md has a test of its own. What cannot run here says
 * why.
 */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { chmod, chown, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { run as query } from "../chaos/cluster/postgres.ts";
import { AnsweringServer, refuses } from "./support/answering-server.ts";
import { ROOT } from "./support/command.ts";
import { opened } from "./support/opening.ts";
import { noOwnPostgres, ownPostgres } from "./support/postgres-server.ts";
import { startRelay, type TestRelay, testEnvironment } from "./support/relay.ts";
import { temporaryFile, temporaryFolder } from "./support/store-subject.ts";

const run = promisify(execFile);
const DEMO = "http://127.0.0.1:8080";
const VIDEO = "demo-stream";

const MESSAGE_LINE = JSON.stringify({
  ...{ cursor: 1, type: "chat", id: "1", timestamp: "8:35 AM", author: "@luna", message: "", amount: "" },
  ...{ color: "", parts: [], details: {} },
});

const ELSEWHERE: [RegExp, string][] = [
  [/^npm (ci|run)\b/, "is what .ci/run runs"],
  [/npm install -g|systemctl (enable|restart)/, "is what clone-commands.ts runs"],
  [/^(tar .*\n)?docker |docker compose /, "needs a Docker daemon"],
  [/^npm install /, "changes the machine"],
  [/^RELAY_STORE=postgres:/, "names a server of the reader's own"],
  [/^(systemctl stop|pg_)/, "is run below"],
  [/^promtool /, "is run by deploy.test.ts"],
];

interface Block {
  page: string;
  script: string;
}

const pages = ["CONTRIBUTING.md", ...globSync("docs/*.md", { cwd: ROOT })];
const blocks: Block[] = pages
  .filter((page) => page !== "docs/api.md")
  .flatMap((page) =>
    [...readFileSync(join(ROOT, page), "utf8").matchAll(/^```sh\n(.*?)^```$/gms)].map(([, script = ""]) => ({
      page,
      script,
    })),
  );

describe("the commands of the documents", () => {
  let relay: TestRelay;
  let hook: AnsweringServer;
  before(async () => {
    relay = await startRelay();
    const chat = relay.upstream.chat(VIDEO, { timeoutMs: 20, tokens: "reusable" });
    chat.say(60);
    chat.speak(20);
    hook = await AnsweringServer.start(refuses(200, ""));
  });
  after(async () => {
    await hook[Symbol.asyncDispose]();
    await relay[Symbol.asyncDispose]();
  });

  it("are there", () => assert.ok(blocks.length > 20, `${blocks.length}`));

  for (const { page, script } of blocks) {
    const reason = ELSEWHERE.find(([pattern]) => pattern.test(script))?.[1];
    it(`${page}: ${script.split("\n")[0]}`, { skip: reason ?? false }, async (t) => {
      const folder = await temporaryFolder(t);
      await mkdir(join(folder, "bin"));
      await mkdir(join(folder, "data"));
      const name = join(folder, "bin/livechat-relay");
      const launcher = join(ROOT, "bin/livechat-relay.js");
      await writeFile(name, `#!/bin/sh\nexec '${process.execPath}' '${launcher}' "$@"\n`);
      await chmod(name, 0o755);
      const store = { RELAY_STORE: `sqlite:${join(folder, "data/relay.db")}` };
      const env = { ...testEnvironment(relay.upstream, store), RELAY_URL: relay.url };
      const ready = script
        .replaceAll(DEMO, relay.url)
        .replaceAll("http://127.0.0.1:9000", hook.url)
        .replaceAll("npx livechat-relay", "bin/livechat-relay")
        .replaceAll("/var/lib/livechat-relay", join(folder, "data"))
        .replaceAll("/var/backups", folder)
        .replaceAll(" examples/", ` ${ROOT}/examples/`)
        .replaceAll("<the last id you saw>", "0")
        .replaceAll("<URL or id of the video>", VIDEO);
      // A backup needs a store.
      if (/ backup /.test(script)) await (await startRelay({ settings: store }))[Symbol.asyncDispose]();
      if (/ import /.test(script)) await writeRecordings(folder);
      const path = `${folder}/bin:${process.env.PATH}`;
      await play(ready, folder, { ...env, PATH: path }, () => hook.calls.length > 0);
    });
  }
});

/** The blocks of a page that match, as they stand. */
function blocksOf(page: string, pattern: RegExp): string[] {
  return blocks
    .filter((block) => block.page === page && pattern.test(block.script))
    .map(({ script }) => script);
}

it("docs/operations.md: a backup comes back as it describes, and belongs to the service's user", async (t) => {
  const folder = await temporaryFolder(t);
  const data = join(folder, "data");
  await mkdir(data);
  await writeFile(join(folder, "systemctl"), '#!/bin/sh\necho "$@" >> "$HOME/systemctl.log"\n', {
    mode: 0o755,
  });
  const launcher = `#!/bin/sh\nexec '${process.execPath}' '${join(ROOT, "bin/livechat-relay.js")}' "$@"\n`;
  await writeFile(join(folder, "livechat-relay"), launcher, { mode: 0o755 });
  const settings = { RELAY_STORE: `sqlite:${join(data, "relay.db")}` };
  await (await startRelay({ settings }))[Symbol.asyncDispose]();
  const user = { uid: 61_234, gid: 61_234 };
  await chown(data, user.uid, user.gid);
  const env = { HOME: folder, PATH: `${folder}:${process.env.PATH}` };
  const page = "docs/operations.md";
  const [make = "", restore = ""] = [
    ...blocksOf(page, /^livechat-relay backup .*\n$/),
    ...blocksOf(page, /^systemctl stop/),
  ];
  for (const script of [make, restore]) {
    const here = script.replaceAll("/var/lib/livechat-relay", data).replaceAll("/var/backups", folder);
    await run("sh", ["-e", "-c", here], { env });
  }
  const { uid, gid } = await stat(join(data, "relay.db"));
  assert.deepEqual({ uid, gid }, user);
  await using _restored = await startRelay({ settings: { ...settings, RELAY_RESTORED: "on" } });
  assert.deepEqual((await readFile(join(folder, "systemctl.log"), "utf8")).trim().split("\n"), [
    "stop livechat-relay",
    "set-environment RELAY_RESTORED=on",
    "start livechat-relay",
    "unset-environment RELAY_RESTORED",
  ]);
});

it("docs/cluster.md: a dump comes back as it describes, under new cursors", {
  skip: noOwnPostgres(),
}, async (t) => {
  const { url } = await ownPostgres(t);
  const settings = { RELAY_STORE: url };
  const folder = await temporaryFolder(t);
  const page = "docs/cluster.md";
  const shell = (script: string) =>
    run("sh", ["-e", "-c", script], { cwd: folder, env: { ...process.env, RELAY_STORE: url } });
  const videoId = "dQw4w9WgXcQ";
  const before = await startRelay({ settings });
  before.upstream.chat(videoId, { kinds: ["text"] }).say(5);
  await opened(before, videoId);
  for (const script of blocksOf(page, /^pg_dump/)) await shell(script);
  const head = async () => {
    const [row] = await query<{ head: string }>(url, "select head + shift as head from room");
    return Number(row?.head);
  };
  const headBefore = await head();
  await before[Symbol.asyncDispose]();
  const [restore = assert.fail("no pg_restore")] = blocksOf(page, /^pg_restore/);
  const [first = "", ...rest] = restore.trim().split("\n");
  await shell(first);
  assert.deepEqual(rest, ["RELAY_RESTORED=on npx livechat-relay serve"]);
  await using _after = await startRelay({ settings: { ...settings, RELAY_RESTORED: "on" } });
  assert.ok((await head()) > headBefore);
});

it("docs/operations.md: its query reads a store", async (t) => {
  const [, query = ""] = /^```sql\n(.*?)^```$/ms.exec(
    readFileSync(join(ROOT, "docs/operations.md"), "utf8"),
  ) ?? [""];
  const path = await temporaryFile(t);
  const relay = await startRelay({ settings: { RELAY_STORE: `sqlite:${path}` } });
  relay.upstream.chat("dQw4w9WgXcQ", { kinds: ["paid"] }).say(3);
  await opened(relay, "dQw4w9WgXcQ");
  await relay[Symbol.asyncDispose]();
  const database = new DatabaseSync(path, { readOnly: true });
  t.after(() => database.close());
  const rows = database.prepare(query).all();
  assert.equal(rows.length, 3);
  for (const row of rows) assert.ok(Number(row.cursor) > 0 && typeof row.author === "string" && row.channel);
});

/** The files that the documents import. */
async function writeRecordings(folder: string): Promise<void> {
  const renderer = { id: "1", timestampUsec: "1700000000000000", message: { runs: [{ text: "hello" }] } };
  const action = { addChatItemAction: { item: { liveChatTextMessageRenderer: renderer } } };
  const line = { replayChatItemAction: { actions: [action], videoOffsetTimeMsec: "0" } };
  await writeFile(join(folder, `A stream [dQw4w9WgXcQ].live_chat.json`), JSON.stringify(line));
  await mkdir(join(folder, "chats"));
  await writeFile(join(folder, "chats/jNQXAC9IVRw.jsonl"), MESSAGE_LINE);
}

/** What runs on and on: it is stopped once it has shown something. */
const ENDLESS =
  /^(RELAY_\w+=\S+ )?(bin\/)?livechat-relay (watch|serve|demo)\b|^curl -N|^(python3|sh) \S*examples/;

/** Runs the lines one after another; each must succeed. */
async function play(
  script: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
  isSent: () => boolean,
): Promise<void> {
  const lines = script.replaceAll("\\\n", " ").trimEnd().split("\n");
  for (const line of lines) {
    const isEndless = ENDLESS.test(line);
    const child = spawn("sh", ["-c", `exec env ${line}`], {
      cwd,
      env: { ...env, HOME: cwd },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 20_000,
      killSignal: "SIGKILL",
      detached: true, // a signal is for all that it starts, as from a terminal
    });
    let [out, error] = ["", ""];
    const isEnough = () => /\n.*\n|listening/.test(out) || (line.includes("--post") && isSent());
    const look = () => {
      const isOver = child.exitCode !== null || child.signalCode !== null;
      if (isEndless && isEnough() && !isOver) process.kill(-(child.pid ?? Number.NaN), "SIGINT");
    };
    child.stdout.on("data", (text) => {
      out += text;
      look();
    });
    child.stderr.on("data", (text) => {
      error += text;
    });
    const watching = setInterval(look, 50);
    const [code, signal] = await once(child, "close");
    clearInterval(watching);
    if (isEndless) assert.ok(isEnough(), `${line}: ${out}${error}`);
    if (!isEndless) assert.equal(code, 0, `${line}: ${error}`);
    assert.ok(
      code === 0 || code === 130 || signal === "SIGINT",
      `${line} ended with ${code} ${signal}: ${error}`,
    );
  }
}
