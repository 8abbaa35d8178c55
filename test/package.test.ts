/**
 * The package as its users have it: the SDK bundled, on the Node.js they have, in scripts that end; the
 * commands in an empty folder; pages whose links lead somewhere. In one file, as two that pack at once would
 * build into one folder.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { AnsweringServer, END, init, messages, refuses, streams } from "./support/answering-server.ts";
import { Command, outcomeOfProcess, ROOT } from "./support/command.ts";

const run = promisify(execFile);
const MAX_GZIPPED_BYTES = 5000;
/** That of the project, and that of the machine, which may be older. */
const NODES = [process.execPath, "/usr/bin/node", "/usr/local/bin/node"].filter((path) => existsSync(path));

let folder: string;
let installed: string;
/** What starts its command. */
let main: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "sdk-package-"));
  installed = join(folder, "node_modules/livechat-relay");
  await mkdir(installed, { recursive: true });
  await run("npm", ["pack", "--pack-destination", folder], { cwd: ROOT });
  const tarball = (await readdir(folder)).find((name) => name.endsWith(".tgz")) ?? assert.fail("no tarball");
  await run("tar", ["-xzf", join(folder, tarball), "--strip-components=1", "-C", installed]);
  const { dependencies, bin } = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
  for (const name of Object.keys(dependencies)) {
    const link = join(folder, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(ROOT, "node_modules", name), link);
  }
  main = join(installed, bin["livechat-relay"]);
});
after(() => rm(folder, { recursive: true, force: true }));

async function bundle(entry: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: folder },
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
    logLevel: "silent",
  });
  return outputFiles[0]?.text ?? "";
}

describe("the packed SDK", () => {
  it(`is at most ${MAX_GZIPPED_BYTES} bytes, bundled, minified and gzipped`, async () => {
    const bytes = gzipSync(await bundle('export * from "livechat-relay/client"'), { level: 9 }).length;
    assert.ok(bytes <= MAX_GZIPPED_BYTES, `${bytes} bytes`);
  });

  it("has no side effects, so that what is not used is not bundled", async () => {
    assert.equal(await bundle('import "livechat-relay/client"'), "");
  });

  it("needs nothing of Node.js", async () => {
    assert.doesNotMatch(
      await bundle('export * from "livechat-relay/client"'),
      /\b(?:process|Buffer|require)\b|node:/,
    );
  });

  it("has the types that its users see, and compiles what docs/sdk.md shows", async () => {
    const uses = await readFile(join(ROOT, "client/test/uses.ts"), "utf8");
    const page = await readFile(join(ROOT, "docs/sdk.md"), "utf8");
    const shown = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);
    const sources = [uses.replace("../index.ts", "livechat-relay/client"), ...shown];
    const names = sources.map((_, index) => `uses-${index}.ts`);
    for (const [index, name] of names.entries()) await writeFile(join(folder, name), sources[index] ?? "");
    await writeFile(join(folder, "package.json"), '{"type":"module"}');
    const common = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2023,dom", "--types", ""];
    for (const flags of [
      ["--module", "nodenext"],
      ["--module", "esnext", "--moduleResolution", "bundler", "--exactOptionalPropertyTypes"],
    ])
      await run(join(ROOT, "node_modules/.bin/tsc"), [...flags, ...common, ...names], { cwd: folder });
  });
});

/** How a script uses a room, and how that ends. */
const ENDS: Record<string, string> = {
  "the chat's end": "for await (const m of chat(url + '/end', { videoId })) print(m.cursor)",
  break: "for await (const m of chat(url + '/live', { videoId })) { print(m.cursor); break }",
  "close()":
    "const room = chat(url + '/live', { videoId }); room.on('message', (m) => { print(m.cursor); room.close() })",
  "close() in a wait":
    "const room = chat(url + '/later', { videoId, retry: () => { print(1); setTimeout(() => room.close()) } }); room.on('message', print)",
  abort:
    "const abort = new AbortController(); try { for await (const m of chat(url + '/live', { videoId, signal: abort.signal })) { print(m.cursor); abort.abort() } } catch (e) { if (e.name !== 'AbortError') throw e }",
  "a refusal":
    "try { for await (const _ of chat(url + '/none', { videoId })); } catch (e) { print(e.status - 403) }",
  "a poll that is left": "for await (const m of poll(url + '/session', { videoId })) { print(m.id); break }",
  "a room that was never asked": "chat(url, { videoId }).on('state', print); print(1)",
};

describe("a script that uses the SDK ends by itself after", () => {
  const long = messages(1, 20);
  const byPath: Record<string, Parameters<typeof AnsweringServer.start>[0]> = {
    end: streams(init(0), messages(1, 1), END),
    live: streams(init(0), long),
    later: refuses(503, "", { "retry-after": "60" }),
    none: refuses(404, { code: "NO_LIVE_CHAT", message: "none" }),
    session: refuses(200, { token: "t", timeoutMs: 60_000, messages: [{ type: "chat", id: 1 }] }),
  };
  for (const node of NODES) {
    for (const [what, code] of Object.entries(ENDS)) {
      it(`${what} (${node === process.execPath ? "the project's Node.js" : node})`, async () => {
        await using server = await AnsweringServer.start((response, call) =>
          byPath[call.path.split("/")[1] ?? ""]?.(response, call),
        );
        const script = `import { chat, poll } from "livechat-relay/client";
          const [url, videoId, print] = ["${server.url}", "v", (value) => console.log(value)];
          ${code}`;
        await writeFile(join(folder, "script.mjs"), script);
        const { stdout } = await run(node, ["script.mjs"], { cwd: folder, timeout: 10_000 });
        assert.equal(stdout, "1\n");
      });
    }
  }
});

describe("the installed package", () => {
  it("runs its commands in an empty folder: the demo serves the pages, and watch reads from it", async () => {
    const cwd = await mkdtemp(join(folder, "empty-"));
    const demo = new Command(["demo", "--port", "0"], { main, cwd });
    const url = await demo.printed(/Page +(\S+)\/\?/);
    for (const path of ["/", "/overlay", "/client.js", "/v1/openapi.json"])
      assert.equal((await fetch(url + path)).status, 200, path);
    const watch = new Command(["watch", "demo-stream", "--server", url], { main, cwd });
    await watch.printed(/: .+\n/);
    watch.child.kill("SIGINT");
    assert.deepEqual(await watch.exited, [130, null], watch.error);
    demo.child.kill("SIGINT");
    assert.deepEqual(await demo.exited, [0, null]);
    assert.deepEqual(await readdir(cwd), []);
  });

  it("has every file that its pages link to", async () => {
    const pages = globSync("{*.md,docs/*.md}", { cwd: installed });
    assert.ok(pages.includes("README.md") && pages.length > 8);
    for (const page of pages) {
      const text = await readFile(join(installed, page), "utf8");
      for (const [, target = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^https?:/.test(target)) continue;
        const [path = "", heading] = target.split("#");
        const file = path === "" ? page : join(dirname(page), path);
        assert.ok(existsSync(join(installed, file)), `${page} links to ${target}`);
        if (heading)
          assert.ok(
            headingsOf(await readFile(join(installed, file), "utf8")).has(heading),
            `${page}: ${target}`,
          );
      }
    }
  });

  it("says in one line that something is not installed", async () => {
    await rm(join(folder, "node_modules/undici"));
    const { code, error } = await outcomeOfProcess(["serve", "--port", "0", "--store", "memory:"], { main });
    assert.equal(code, 1);
    assert.match(
      error,
      /^livechat-relay: Cannot find package 'undici'[^\n]*: install it again, for example by npm ci\n$/,
    );
  });
});

/** The names under which a page's headings can be linked to. */
function headingsOf(markdown: string): Set<string> {
  const headings = [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, text = ""]) => text.toLowerCase());
  return new Set(headings.map((text) => text.replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")));
}
