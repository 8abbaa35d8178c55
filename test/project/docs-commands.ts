/**
 * The commands of the other documents, unchanged and block by block, in a fresh clone; reading commands use
 * the clone's demo. clone-commands.ts follows the README and the installation, api-docs.test.ts docs/api.md.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync, statSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { startSimulator } from "../../simulator/index.ts";
import { run as query } from "../chaos/cluster/postgres.ts";
import { freePorts } from "../chaos/service.ts";
import { AnsweringServer, refuses } from "../support/answering-server.ts";
import { blocksOf, cloneInto, Running, userEnvironment, whyNotRun } from "../support/clone.ts";
import { ROOT } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { opened } from "../support/opening.ts";
import { noOwnPostgres, ownPostgres, ownSchema } from "../support/postgres-server.ts";
import { startRelay, testEnvironment } from "../support/relay.ts";
import { temporaryFile } from "../support/store-subject.ts";

const TOKEN = "a-token-of-many-letters";

/** The pages whose commands another test runs. */
const ELSEWHERE = [
  ...["README.md", "client/README.md", "docs/sdk.md", "docs/deployment.md", "docs/operations.md"],
  ...["docs/api.md", "docs/cluster.md", "docs/access.md"],
];
const PAGES = globSync("{*.md,docs/*.md,client/*.md}", { cwd: ROOT });
const CLUSTER = blocksOf("docs/cluster.md");

/** What runs on and on, and is stopped once it has shown something. */
const ENDLESS =
  /^(RELAY_\w+=\S+ )?npx livechat-relay (watch|serve|edge|export .*--follow)\b|^curl -N|^while |examples\/follow/m;
/** What a block of commands begins with, however it is marked. */
const COMMAND =
  /^(\w+=\S+ )*(npm|npx|livechat-relay|curl|git|python3|go|sh|systemctl|docker|kubectl|pg_\w+) /;

it("every block of commands is marked as one, so that it is run", () => {
  for (const page of PAGES) {
    const blocks = readFileSync(join(ROOT, page), "utf8").matchAll(/^```(\w*)\n(.*?)^```$/gms);
    for (const [, mark, block = ""] of blocks)
      assert.ok(mark === "sh" || !COMMAND.test(block), `${page}: \`\`\`${mark}\n${block}`);
  }
});

it("every npm script that a document names exists", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  for (const page of PAGES) {
    for (const [, name = ""] of readFileSync(join(ROOT, page), "utf8").matchAll(
      /\bnpm run (?:-s )?([\w:]+)/g,
    ))
      assert.ok(name in scripts, `${page}: npm run ${name}`);
  }
});

describe("a fresh clone", () => {
  let clone: string;
  let env: NodeJS.ProcessEnv;
  let hook: AnsweringServer;
  const running = new AsyncDisposableStack();
  before(async () => {
    const folder = await mkdtemp(join(tmpdir(), "relay-clone-"));
    running.defer(() => rm(folder, { recursive: true, force: true }));
    clone = join(folder, "clone");
    const upstream = running.use(await startSimulator());
    hook = running.use(await AnsweringServer.start(refuses(200, "")));
    const [port = 0] = await freePorts(1);
    // A service that a command starts reads from a simulated upstream, too.
    env = { ...testEnvironment(upstream), RELAY_STORE: undefined, ...userEnvironment(port) };
    await cloneInto(clone);
    await writeCaptures(clone);
    const demo = new Running("npm run demo", clone, { ...env, RELAY_ADMIN_TOKEN: TOKEN });
    running.defer(() => demo.stop());
    await demo.printed(/listening on/);
  });
  after(() => running.disposeAsync());

  /** Runs a block to its end; a command without an end runs until it has shown enough. */
  async function play(block: string, settings: NodeJS.ProcessEnv = {}): Promise<void> {
    const script = block
      .replaceAll("http://127.0.0.1:8080", env.RELAY_URL ?? "")
      .replaceAll("http://127.0.0.1:9000", hook.url)
      .replaceAll("<the service's token>", TOKEN);
    const isOnePart = !ENDLESS.test(script) || script.includes("\nwhile ");
    for (const part of isOnePart ? [script] : script.split("\n")) {
      const isService = / (serve|edge)\b/.test(part);
      const own = isService && { RELAY_PORT: "0" };
      const commands = new Running(part.replace(/ --port \d+/, ""), clone, { ...env, ...own, ...settings });
      await using _stopped = { [Symbol.asyncDispose]: () => commands.stop() };
      const [, output = ""] = / --output (\S+)/.exec(part) ?? [];
      if (!ENDLESS.test(part)) await commands.ended();
      else if (part.includes("--post")) await hook.changes.until(() => hook.calls.length > 0, "the post");
      else if (output) await eventually(true, () => hasText(join(clone, output)));
      else await commands.printed(isService ? /listening on/ : /\n.*\n/);
    }
  }

  for (const page of PAGES.filter((name) => !ELSEWHERE.includes(name))) {
    for (const block of blocksOf(page)) {
      const lines = block.replaceAll("\\\n", " ").split("\n");
      const reasons = lines.map(whyNotRun);
      const commands = lines.filter((_, index) => reasons[index] === undefined).join("\n");
      const skip = CLUSTER.includes(block)
        ? "is in docs/cluster.md, too"
        : commands === "" && reasons.join("; ");
      it(`runs ${page}: ${lines[0]}`, { skip }, () => play(commands));
    }
  }

  it("runs docs/cluster.md: the move to PostgreSQL, a dump, and its return under new cursors", {
    skip: noOwnPostgres(),
  }, async (t) => {
    const { url } = await ownPostgres(t);
    const target = await ownSchema(t, { url });
    const [serve = "", move = "", upgrade = "", dump = "", restore = "", underSystemd = "", ...others] =
      CLUSTER;
    assert.deepEqual(others, []);
    for (const line of `${upgrade}\n${underSystemd}`.split("\n"))
      assert.ok(/^(systemctl|curl|npm|livechat-relay) /.test(line) || restore.includes(line), line);
    const playOn = (block: string, store: string) =>
      play(block.replace(/postgres:\/\/\S+/, `'${store}'`), { RELAY_STORE: store });
    await play("npx livechat-relay serve"); // whose store moves
    await playOn(move, target);
    await playOn(serve, url);
    const videoId = "dQw4w9WgXcQ";
    {
      await using relay = await startRelay({ settings: { RELAY_STORE: url } });
      relay.upstream.chat(videoId, { kinds: ["text"] }).say(5);
      await opened(relay, videoId);
    }
    const head = async () => {
      const [row] = await query<{ head: string }>(url, "select head + shift as head from room");
      return Number(row?.head);
    };
    const given = await head();
    await playOn(dump, url);
    await playOn(restore, url);
    assert.ok((await head()) > given);
  });
});

it("the query of docs/operations.md reads a store", async (t) => {
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

const MESSAGE_LINE = JSON.stringify({
  cursor: 1,
  type: "chat",
  id: "1",
  timestamp: "8:35 AM",
  author: "@luna",
  message: "",
  amount: "",
  color: "",
  parts: [],
  details: {},
});

const hasText = (path: string) => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;

/** The files that the documents import. */
async function writeCaptures(folder: string): Promise<void> {
  const renderer = { id: "1", timestampUsec: "1700000000000000", message: { runs: [{ text: "hello" }] } };
  const action = { addChatItemAction: { item: { liveChatTextMessageRenderer: renderer } } };
  const line = { replayChatItemAction: { actions: [action], videoOffsetTimeMsec: "0" } };
  await writeFile(join(folder, `A stream [dQw4w9WgXcQ].live_chat.json`), JSON.stringify(line));
  await mkdir(join(folder, "chats"));
  await writeFile(join(folder, "chats/jNQXAC9IVRw.jsonl"), MESSAGE_LINE);
}
