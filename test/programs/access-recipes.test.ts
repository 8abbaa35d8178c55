/** The recipes of docs/access.md, as somebody follows them: block by block, with the code that they print. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { portOf } from "../chaos/line.ts";
import { freePorts } from "../chaos/service.ts";
import { launchChromium, NO_CHROMIUM } from "../support/browser.ts";
import { Running, userEnvironment } from "../support/clone.ts";
import { ROOT } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { type Need, without } from "../support/needs.ts";
import { certificateFile, SELF_SIGNED } from "../support/self-signed.ts";
import { temporaryFolder } from "../support/store-subject.ts";
import { bearer, SECRET, signed } from "../support/tokens.ts";

const PAGE = readFileSync(join(ROOT, "docs/access.md"), "utf8");

/** The blocks of a section that are marked so. */
function blocksIn(section: string, mark: string): string[] {
  const [, text = ""] = new RegExp(`^## ${section}\n(.*?)^## `, "ms").exec(PAGE) ?? [];
  return [...text.matchAll(new RegExp(`^\`\`\`${mark}\n(.*?)^\`\`\`$`, "gms"))].map(([, code = ""]) => code);
}

/** A folder in which the commands work as in a checkout, with ports of its own. */
class Follower {
  readonly folder: string;
  readonly service: string;
  readonly site: string;
  readonly #t: TestContext;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(t: TestContext, folder: string, [port, sitePort]: number[], env: NodeJS.ProcessEnv) {
    this.#t = t;
    this.folder = folder;
    this.service = `http://127.0.0.1:${port}`;
    this.site = `http://127.0.0.1:${sitePort}`;
    this.#env = { ...userEnvironment(port), ...env };
  }

  static async begin(t: TestContext, env: NodeJS.ProcessEnv = {}): Promise<Follower> {
    const folder = await temporaryFolder(t);
    for (const name of ["package.json", "bin", "node_modules"])
      await symlink(join(ROOT, name), join(folder, name));
    return new Follower(t, folder, await freePorts(2), env);
  }

  here(text: string): string {
    return text
      .replaceAll("http://127.0.0.1:8080", this.service)
      .replaceAll("http://127.0.0.1:3000", this.site)
      .replaceAll("3000", `${new URL(this.site).port}`);
  }

  write(name: string, text = ""): Promise<void> {
    return writeFile(join(this.folder, name), this.here(text));
  }

  run(block = ""): Running {
    const running = new Running(this.here(block), this.folder, this.#env);
    this.#t.after(() => running.stop());
    return running;
  }

  async serve(block = ""): Promise<void> {
    await this.run(block).printed(/listening on/);
  }
}

const MESSAGE = /^event: message$/m;

it("docs/access.md: only my channel", { skip: without("curl") }, async (t) => {
  const follower = await Follower.begin(t);
  const [start, read, others, ...more] = blocksIn("Only my channel", "sh");
  assert.deepEqual(more, []);
  await follower.serve(start);
  await follower.run(read).printed(MESSAGE);
  const refusals = await follower.run(others).ended();
  assert.deepEqual(
    [...refusals.matchAll(/^HTTP\/1.1 (\d+)/gm)].map(([, status]) => status),
    ["401", "404"],
  );
});

describe("docs/access.md: the users of my site", () => {
  const section = "The users of my site";
  const [start, node, python, read, expire, resume, print] = blocksIn(section, "sh");
  const [html = ""] = blocksIn(section, "html");
  const servers: [
    language: string,
    mark: string,
    file: string,
    needs: Need[],
    command: string | undefined,
  ][] = [
    ["Node.js", "js", "token-server.mjs", [], node],
    ["Python", "python", "token_server.py", ["python3"], python],
  ];

  for (const [language, mark, file, needs, command] of servers) {
    it(`whose server is written in ${language}`, { skip: without("curl", ...needs) }, async (t) => {
      const follower = await Follower.begin(t);
      const [code] = blocksIn(section, mark);
      await follower.write(file, code);
      await follower.write("chat.html", html);
      await follower.serve(start);
      assert.equal((await stat(join(follower.folder, "token-key"))).mode & 0o077, 0);
      follower.run(command);
      await answers(follower.site);
      assert.equal(await (await fetch(`${follower.site}/`)).text(), follower.here(html));
      const reading = follower.run(read);
      await reading.printed(MESSAGE);
      const statuses = [...reading.out.matchAll(/^HTTP\/1.1 (\d+)/gm)].map(([, status]) => status);
      assert.deepEqual(statuses, ["401", "403"]);
      for (const cookie of ["", "constructor", "__proto__", "session=of-bob"])
        assert.equal((await fetch(`${follower.site}/chat-token`, { headers: { cookie } })).status, 401);
      const token = (await follower.run(print).ended()).trim();
      const { status } = await fetch(`${follower.service}/v1/messages?videoId=dQw4w9WgXcQ`, {
        headers: bearer(token),
      });
      assert.equal(status, 403);
      const stream = await fetch(`${follower.service}/v1/stream?channel=@demo`, { headers: bearer(token) });
      assert.equal(stream.status, 200);
      await stream.body?.cancel();
    });
  }

  it("whose streams end with their tokens, and resume", { skip: without("curl") }, async (t) => {
    const follower = await Follower.begin(t);
    await follower.serve(start);
    const idsIn = (out: string) => [...out.matchAll(/^id: (.*)$/gm)].map(([, id = ""]) => id);
    const lasting = (block?: string) => block?.replace("--for 5s", "--for 15s"); // for a busy machine
    const last = idsIn(await follower.run(lasting(expire)).ended()).at(-1) ?? "";
    const resumed = follower.run(lasting(resume)?.replace("<the last id you saw>", last));
    await resumed.printed(MESSAGE);
    const [videoId = "", cursor] = last.split(".");
    assert.equal(idsIn(resumed.out)[0], `${videoId}.${Number(cursor) + 1}`);
  });

  it("by the page of the site that shows it", { skip: NO_CHROMIUM }, async (t) => {
    const follower = await Follower.begin(t);
    await follower.write("token-server.mjs", blocksIn(section, "js")[0]);
    await follower.write("chat.html", html);
    await follower.serve(start);
    follower.run(node);
    await answers(follower.site);
    const browser = await launchChromium();
    t.after(() => browser.close());
    const page = await browser.newPage();
    await page.goto(follower.site);
    await page.locator("br").first().waitFor({ state: "attached" });
  });
});

it("docs/access.md: my channel, and the rest for my users", { skip: without("curl") }, async (t) => {
  const follower = await Follower.begin(t);
  const [start, read] = blocksIn("My channel, and the rest for my users", "sh");
  await follower.write("chat.html");
  await follower.write("token-key", SECRET.replaceAll(" ", "-"));
  const [code = ""] = blocksIn("The users of my site", "js");
  await follower.write("token-server.mjs", code.replace('relay: ["watch:@demo"]', 'relay: ["watch"]'));
  await follower.serve(start);
  follower.run(blocksIn("The users of my site", "sh")[1]);
  await answers(follower.site);
  const reading = follower.run(read);
  await reading.printed(MESSAGE);
  assert.match(reading.out, /^HTTP\/1.1 401 /);
  const expired = await fetch(`${follower.service}/v1/stream?channel=@demo`, { headers: bearer("expired") });
  assert.equal(expired.status, 200);
  await expired.body?.cancel();
});

it("docs/access.md: a company and its identity provider", async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const keys = { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "one", use: "sig", alg: "ES256" }] };
  const provider = createServer(SELF_SIGNED, (_, response) => void response.end(JSON.stringify(keys))).listen(
    0,
    "127.0.0.1",
  );
  t.after(() => provider.close());
  const follower = await Follower.begin(t, { NODE_EXTRA_CA_CERTS: await certificateFile(t) });
  const [start = "", use = ""] = blocksIn("A company and its identity provider", "sh");
  await follower.serve(start.replace("https://id.example.org", `https://127.0.0.1:${portOf(provider)}`));
  const claims = { relay: ["watch", "rooms"], aud: "livechat-relay" };
  const header = { alg: "ES256", kid: "one" };
  const asked = (token: string) => follower.run(use.replace(/<an access token .*>/, token));
  await asked(await signed(claims, { key: privateKey, header })).printed(/^VIDEO.*\n\d+:\d\d [AP]M .*: /ms);
  const foreign = await signed({ ...claims, aud: "another program" }, { key: privateKey, header });
  await assert.rejects(asked(foreign).ended(), /UNAUTHORIZED: The token is for another audience/);
});

/** Resolves once something answers there. */
async function answers(url: string): Promise<void> {
  await eventually(true, () =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  );
}
