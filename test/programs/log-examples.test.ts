/** The readers of a log that docs/log.md shows, in `curl` and Python: to its end, cut, and refused. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { ROOT } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { without } from "../support/needs.ts";
import { metric, startRelay } from "../support/relay.ts";
import { temporaryFolder } from "../support/store-subject.ts";
import { cursorsOf, cuttingWay, talking, VIDEO } from "../support/talking-log.ts";
import { SECRET } from "../support/tokens.ts";

const run = promisify(execFile);

/** The example of docs/log.md in a language, for the service at this URL, as `execFile` runs it. */
const exampleIn = async (language: string, url: string): Promise<[program: string, args: string[]]> => {
  const page = await readFile(join(ROOT, "docs/log.md"), "utf8");
  const blocks = [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))];
  const [, script = assert.fail("no example")] =
    blocks.find(([, text = ""]) => text.includes("long-poll")) ?? [];
  const here = script.replaceAll("http://127.0.0.1:8080", url).replaceAll("demo-stream", VIDEO);
  return [language === "sh" ? "sh" : "python3", ["-c", here]];
};
const cursorsIn = (stdout: string, language: string) =>
  [...stdout.matchAll(language === "sh" ? /"cursor":(\d+)/g : /^(\d+) /gm)].map(([, cursor]) =>
    Number(cursor),
  );

describe("a log", () => {
  for (const [name, language] of Object.entries({
    "curl in a loop": "sh",
    "Python's standard library": "python",
  })) {
    const skip = without(language === "sh" ? "curl" : "python3");
    it(`is read to its end by ${name}, as docs/log.md shows`, { skip }, async (t) => {
      const { relay, said, viewer } = await talking(t);
      const example = await exampleIn(language, relay.url);
      const running = run(...example, { cwd: await temporaryFolder(t), timeout: 60_000 });
      await eventually(2, () => metric(relay, "relay_viewers")); // the other one is `viewer`
      said.say(10);
      await viewer.untilMessages(40);
      said.end("continuations-absent");
      const { stdout } = await running;
      assert.deepEqual(cursorsIn(stdout, language), await cursorsOf(relay));
    });

    it(`loses and repeats nothing in ${name} whose connections break`, { skip }, async (t) => {
      const { relay, said } = await talking(t);
      said.end("continuations-absent");
      // A head that is cut looks whole to both.
      const { url, cuts } = await cuttingWay(t, relay.url, 1500);
      const [program, [option = "", script = ""]] = await exampleIn(language, url);
      const args = [option, script.replace("sleep 3", "sleep 0.01").replace("sleep(3)", "sleep(0.01)")];
      const { stdout } = await run(program, args, { cwd: await temporaryFolder(t), timeout: 60_000 });
      assert.ok(cuts() > 5, `${cuts()}`);
      assert.deepEqual(cursorsIn(stdout, language), await cursorsOf(relay));
    });

    it(`is given up by ${name} at a refusal, which it shows`, { skip }, async (t) => {
      await using relay = await startRelay({ settings: { RELAY_PUBLIC: "none", RELAY_TOKEN_KEY: SECRET } });
      const [program, args] = await exampleIn(language, relay.url);
      const running = run(program, args, { cwd: await temporaryFolder(t), timeout: 60_000 });
      const { stderr }: { stderr: string } = await running.catch((ended) => ended);
      assert.match(stderr, /UNAUTHORIZED.*needs a token/);
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
