/** The readers of a log that docs/log.md shows: to its end, cut, and refused. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { ROOT } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { type Need, without } from "../support/needs.ts";
import { metric, startRelay } from "../support/relay.ts";
import { temporaryFolder } from "../support/store-subject.ts";
import { cursorsOf, cuttingWay, talking, VIDEO } from "../support/talking-log.ts";
import { SECRET } from "../support/tokens.ts";

const run = promisify(execFile);

interface Reader {
  /** How its example in docs/log.md is marked. */
  language: string;
  needs: Need[];
  /** Takes the example as its last argument. */
  command: [program: string, ...options: string[]];
  cursor: RegExp;
  /** Whether the example goes on by itself when an answer breaks off. */
  goesOn: boolean;
}

const READERS: Record<string, Reader> = {
  "curl in a loop": {
    language: "sh",
    needs: ["curl"],
    command: ["sh", "-c"],
    cursor: /"cursor":(\d+)/g,
    goesOn: true,
  },
  "Python's standard library": {
    language: "python",
    needs: ["python3"],
    command: ["python3", "-c"],
    cursor: /^(\d+) /gm,
    goesOn: true,
  },
  "the protocol's own client": {
    language: "js",
    needs: [],
    command: [process.execPath, "--input-type=module", "-e"],
    cursor: /^(\d+) /gm,
    goesOn: false,
  },
};

/** Plays the example of docs/log.md for the service at this URL, in a folder with the project's modules. */
async function read(t: TestContext, url: string, { language, command }: Reader) {
  const page = await readFile(join(ROOT, "docs/log.md"), "utf8");
  const blocks = [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))];
  const [, script = assert.fail("no example")] =
    blocks.find(([, text = ""]) => text.includes("long-poll")) ?? [];
  const here = script
    .replaceAll("http://127.0.0.1:8080", url)
    .replaceAll("demo-stream", VIDEO)
    .replace("sleep 3", "sleep 0.01")
    .replace("sleep(3)", "sleep(0.01)");
  const cwd = await temporaryFolder(t);
  await symlink(join(ROOT, "node_modules"), join(cwd, "node_modules"));
  const [program, ...options] = command;
  return run(program, [...options, here], { cwd, timeout: 60_000 });
}
const cursorsIn = (stdout: string, { cursor }: Reader) =>
  [...stdout.matchAll(cursor)].map(([, found]) => Number(found));

describe("a log", () => {
  for (const [name, reader] of Object.entries(READERS)) {
    const skip = without(...reader.needs);
    it(`is read to its end by ${name}, as docs/log.md shows`, { skip }, async (t) => {
      const { relay, said, viewer } = await talking(t);
      const reading = read(t, relay.url, reader);
      await eventually(2, () => metric(relay, "relay_viewers")); // the other one is `viewer`
      said.say(10);
      await viewer.untilMessages(40);
      said.end("continuations-absent");
      assert.deepEqual(cursorsIn((await reading).stdout, reader), await cursorsOf(relay));
    });

    if (reader.goesOn)
      it(`loses and repeats nothing in ${name} whose connections break`, { skip }, async (t) => {
        const { relay, said } = await talking(t);
        said.end("continuations-absent");
        // A head that is cut looks whole to both. Each cut costs a process of curl.
        const { url, cuts } = await cuttingWay(t, relay.url, 1500, 500);
        const { stdout } = await read(t, url, reader);
        assert.ok(cuts() > 5, `${cuts()}`);
        assert.deepEqual(cursorsIn(stdout, reader), await cursorsOf(relay));
      });

    it(`is given up by ${name} at a refusal, which it shows`, { skip }, async (t) => {
      await using relay = await startRelay({ settings: { RELAY_PUBLIC: "none", RELAY_TOKEN_KEY: SECRET } });
      const { stderr }: { stderr: string } = await read(t, relay.url, reader).catch((ended) => ended);
      assert.match(stderr, /UNAUTHORIZED.*needs a token/s);
    });
  }
});

it("curl --compressed reads a stream to its end", { skip: without("curl") }, async () => {
  await using relay = await startRelay();
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 15 });
  chat.say(30);
  const url = `${relay.url}/v1/stream?videoId=${VIDEO}`;
  const reading = run("curl", ["-sS", "--compressed", "--max-time", "10", url]);
  await relay.upstream.requested("get_live_chat", { videoId: VIDEO, count: 3 });
  chat.end("reload-only");
  const { stdout } = await reading;
  assert.equal(stdout.match(/^event: message$/gm)?.length, 30);
  assert.match(stdout, /event: end\ndata: .*\n\n$/);
});
