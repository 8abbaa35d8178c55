/**
 * The description of the API as others use it: the recommended rules of two linters find nothing in it, and a
 * client that a generator makes of it compiles and reads a chat.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { paidAction } from "../support/chat-actions.ts";
import { ROOT } from "../support/command.ts";
import { missingBut } from "../support/needs.ts";
import { startRelay } from "../support/relay.ts";
import { inRuntimes } from "../support/runtimes.ts";
import { temporaryFolder } from "../support/store-subject.ts";
import { Stream } from "../support/stream.ts";

const run = promisify(execFile);
const VIDEO = "dQw4w9WgXcQ";

const REDOCLY = `
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { readFileSync } from "node:fs";
const config = await createConfig({ extends: ["recommended"] });
const source = readFileSync("openapi.json", "utf8");
const problems = await lintFromString({ source, absoluteRef: "/openapi.json", config });
console.log(JSON.stringify(problems.map(({ ruleId, message }) => [ruleId, message])));
`;
const SPECTRAL = `
import core from "@stoplight/spectral-core";
import rulesets from "@stoplight/spectral-rulesets";
import { readFileSync } from "node:fs";
const spectral = new core.Spectral();
spectral.setRuleset({ extends: [rulesets.oas] });
const problems = await spectral.run(JSON.parse(readFileSync("openapi.json", "utf8")));
console.log(JSON.stringify(problems.map(({ code, message, path }) => [code, message, path.join("/")])));
`;
/** Uses a number, a boolean, an enumeration and the details of each type as what they are. */
const CLIENT = `import createClient from "openapi-fetch";
import type { paths } from "./schema.d.ts";

const client = createClient<paths>({ baseUrl: process.argv[2] ?? "" });
const query = { videoId: "${VIDEO}", limit: 3, details: true, after: 0, format: "json" as const };
const { data, error } = await client.GET("/v1/messages", { params: { query } });
if (error) throw new Error(error.message);
if (typeof data === "string") throw new Error("another form than JSON");
for (const m of data.messages) {
  if (m.type === "superchat") {
    const tier: number | undefined = m.details?.tier;
    console.log(m.cursor, m.author, m.details?.amount?.value, tier);
  }
  // @ts-expect-error: a chat message has no payment
  if (m.type === "chat") console.log(m.cursor, m.author, m.details?.tier);
  if (m.type === "poll") console.log(m.details?.poll.choices.length);
  if (m.type === "deleted") console.log(m.details?.target.messageId.length);
  if (m.type === "gap") console.log(m.details?.gap.since.length);
}
`;

const parts = (name: string) => {
  const path = inRuntimes(name);
  return { skip: !existsSync(path) && missingBut(name, "npm run runtimes") };
};

/** A folder with the description, and with the modules that `npm run runtimes` installs. */
async function described(t: Parameters<typeof temporaryFolder>[0], url: string): Promise<string> {
  const cwd = await temporaryFolder(t);
  await symlink(inRuntimes(""), join(cwd, "node_modules"));
  await writeFile(join(cwd, "package.json"), '{"type":"module"}');
  const response = await fetch(`${url}/v1/openapi.json`);
  await writeFile(join(cwd, "openapi.json"), await response.text());
  return cwd;
}

describe("the description of the API", () => {
  for (const [name, script] of Object.entries({
    "@redocly/openapi-core": REDOCLY,
    "@stoplight/spectral-core": SPECTRAL,
  }))
    it(`has neither errors nor warnings by the recommended rules of ${name}`, parts(name), async (t) => {
      await using relay = await startRelay({ settings: { RELAY_ADMIN_TOKEN: "a-token-of-many-letters" } });
      const cwd = await described(t, relay.url);
      await writeFile(join(cwd, "lint.mjs"), script);
      const { stdout } = await run(process.execPath, ["lint.mjs"], { cwd });
      assert.deepEqual(JSON.parse(stdout), []);
    });

  it("makes a client that compiles and reads a chat", parts("openapi-typescript"), async (t) => {
    await using relay = await startRelay();
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5 });
    chat.say(2);
    chat.say([paidAction("paid", "€5.00")]);
    await using stream = await Stream.open(relay.url, { videoId: VIDEO });
    await stream.untilMessages(3);
    const cwd = await described(t, relay.url);
    const generator = join(inRuntimes("openapi-typescript"), "bin/cli.js");
    await run(process.execPath, [generator, "openapi.json", "--output", "schema.d.ts"], { cwd });
    await writeFile(join(cwd, "read.ts"), CLIENT);
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    const types = ["--types", "node", "--typeRoots", join(ROOT, "node_modules/@types")];
    const strict = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--skipLibCheck"];
    await run(process.execPath, [tsc, ...strict, ...types, "--allowImportingTsExtensions", "read.ts"], {
      cwd,
    });
    const { stdout } = await run(process.execPath, ["read.ts", relay.url], { cwd });
    // The generated texts and the paid message are of the same moment: their order is not known.
    const ends = stdout
      .trim()
      .split("\n")
      .map((line) => /^\d+ \S+ (.*)$/.exec(line)?.[1] ?? line);
    assert.match(ends.sort().join(), /^5 \d,undefined,undefined$/);
  });
});
