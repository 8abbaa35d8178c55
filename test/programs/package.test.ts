/**
 * The packages as their users have them: the SDK installed, compiled, bundled, in every runtime, in scripts
 * that end; the commands in an empty folder; pages whose links lead somewhere. In one file, as two that pack
 * at once would build into one folder.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { companions } from "../../src/cli/companions.ts";
import { buildExecutables, THIS_PLATFORM } from "../../tools/release/executables.ts";
import { AnsweringServer, END, init, messages, refuses, streams } from "../support/answering-server.ts";
import { Command, outcomeOfProcess, ROOT } from "../support/command.ts";
import { missingBut } from "../support/needs.ts";
import { inRuntimes, NODES, outputOf, RUNTIMES } from "../support/runtimes.ts";

const run = promisify(execFile);
const MAX_GZIPPED_BYTES = 5000;
const RESOLUTIONS = {
  node10: ["--module", "commonjs", "--moduleResolution", "node10"],
  node16: ["--module", "node16"],
  bundler: ["--module", "esnext", "--moduleResolution", "bundler", "--exactOptionalPropertyTypes"],
};
/** The newest compiler, the oldest that the types are for, and the last before the newest was rewritten. */
const COMPILERS: [name: string, tsc: string, resolutions: readonly (keyof typeof RESOLUTIONS)[]][] = [
  ["TypeScript 7", join(ROOT, "node_modules/.bin/tsc"), ["node16", "bundler"]],
  ["TypeScript 6", inRuntimes("typescript-6/bin/tsc"), ["bundler"]],
  ["TypeScript 5.4", inRuntimes("typescript-5.4/bin/tsc"), ["node10", "node16"]],
];

/** The SDK's own package, and the service's, which has the same code. */
const NAMES = ["livechat-relay-client", "livechat-relay/client"] as const;

/** A file that an earlier build might have left. */
const LEFT_OVER = join(ROOT, "dist/left-over.js");

/** Has both packages below its `node_modules`. */
let folder: string;
/** The service's package. */
let installed: string;
/** What starts its command. */
let main: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "packages-"));
  installed = join(folder, "node_modules/livechat-relay");
  await mkdir(dirname(LEFT_OVER), { recursive: true });
  await writeFile(LEFT_OVER, "");
  await run(process.execPath, [join(ROOT, "tools/release/main.ts"), folder]);
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  await run("npm", ["install", "--offline", `./livechat-relay-client-${version}.tgz`], { cwd: folder });
  await mkdir(installed);
  const tarball = join(folder, `livechat-relay-${version}.tgz`);
  await run("tar", ["-xzf", tarball, "--strip-components=1", "-C", installed]);
  const { bin, dependencies } = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
  assert.equal(dependencies, undefined); // they are in its bundle
  main = join(installed, bin["livechat-relay"]);
});
after(() => rm(folder, { recursive: true, force: true }));

/** The modules that the SDK loads when it needs them. */
const LATER = ["./log-stream.js", "./poll-loop.js", "./stored-pages.js"];

async function bundle(entry: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: folder },
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
    external: LATER, // loaded only when they are needed
    logLevel: "silent",
  });
  return outputFiles[0]?.text ?? "";
}

describe("a release", () => {
  it("has the same executable file each time", async () => {
    const again = await mkdtemp(join(folder, "again-"));
    const [name = ""] = await buildExecutables([THIS_PLATFORM], again);
    const [one, other] = await Promise.all([folder, again].map((path) => readFile(join(path, name))));
    assert.ok(one?.equals(other ?? Buffer.alloc(0)));
  });

  it("has a list of the packages inside, with their versions", async () => {
    const { components, metadata } = JSON.parse(await readFile(join(folder, "sbom.cdx.json"), "utf8"));
    assert.equal(metadata.timestamp, undefined);
    const names = components.map(({ name }: { name: string }) => name);
    for (const name of ["node", "fastify", "pino", "undici", "pg"]) assert.ok(names.includes(name), name);
  });

  it("contains the service as package and file, the SDK, the list of packages, and checksums", async () => {
    const sums = await readFile(join(folder, "SHA256SUMS"), "utf8");
    const tarballs = sums.matchAll(/^([0-9a-f]{64}) {2}(\S+)$/gm).map(async ([, sum, name = ""]) => {
      const bytes = await readFile(join(folder, name));
      assert.equal(createHash("sha256").update(bytes).digest("hex"), sum);
      return name.replace(/[\d.]+(?=\.tgz$)/, "").replace(THIS_PLATFORM, "");
    });
    const names = (await Promise.all(tarballs)).sort();
    const expected = [
      "livechat-relay-",
      "livechat-relay-.tgz",
      "livechat-relay-client-.tgz",
      "sbom.cdx.json",
    ];
    assert.deepEqual(names, expected);
    assert.equal(sums.split("\n").length, 5);
    assert.ok(!existsSync(join(installed, "dist/left-over.js")));
  });
});

describe("the packed SDK", () => {
  it("is installed as one package, with its licence", async () => {
    const { packages } = JSON.parse(await readFile(join(folder, "node_modules/.package-lock.json"), "utf8"));
    assert.deepEqual(Object.keys(packages), ["node_modules/livechat-relay-client"]);
    const [own, whole] = await Promise.all(
      [join(folder, "node_modules/livechat-relay-client"), ROOT].map((path) =>
        readFile(join(path, "LICENSE")),
      ),
    );
    assert.deepEqual(own, whole);
  });

  it("is the same code in both packages, of the same version", async () => {
    const [own, ofService] = await Promise.all(NAMES.map((name) => bundle(`export * from "${name}"`)));
    assert.equal(own, ofService);
    const versions = ["livechat-relay-client", "livechat-relay"].map(async (name) => {
      const text = await readFile(join(folder, "node_modules", name, "package.json"), "utf8");
      return JSON.parse(text).version;
    });
    assert.equal(await versions[0], await versions[1]);
  });

  it(`is at most ${MAX_GZIPPED_BYTES} bytes, bundled, minified and gzipped`, async () => {
    const bytes = gzipSync(await bundle('export * from "livechat-relay-client"'), { level: 9 }).length;
    assert.ok(bytes <= MAX_GZIPPED_BYTES, `${bytes} bytes`);
    const later = LATER.map(async (name) => {
      const file = join("./node_modules/livechat-relay-client/dist/esm/client", name);
      return gzipSync(await bundle(`export * from "./${file}"`), { level: 9 }).length;
    });
    const sizes = await Promise.all(later);
    for (const page of ["docs/sdk.md", "client/README.md"]) {
      const [, said] = /at most ([\d.]+) kB/.exec(await readFile(join(ROOT, page), "utf8")) ?? [];
      const spare = Number(said) * 1000 - bytes;
      assert.ok(spare >= 0 && spare < 300, `${page} says ${said} kB; these are ${bytes} bytes`);
      const told =
        /([\d.]+), ([\d.]+) and ([\d.]+) kB more/.exec(await readFile(join(ROOT, page), "utf8")) ?? [];
      for (const [index, bytes] of sizes.entries()) {
        const saidOfOne = told[index + 1];
        assert.ok(
          Math.abs(Number(saidOfOne) * 1000 - bytes) < 100,
          `${page} says ${saidOfOne} kB; these are ${bytes} bytes`,
        );
      }
    }
  });

  for (const name of NAMES) {
    it(`has no side effects, so that bundlers drop unused code (${name})`, async () => {
      assert.equal(await bundle(`import "${name}"`), "");
    });
  }

  it("needs nothing of Node.js", async () => {
    assert.doesNotMatch(
      await bundle('export * from "livechat-relay-client"'),
      /\b(?:process|Buffer|require)\b|node:/,
    );
  });

  for (const node of NODES) {
    it(`is loaded by import and require() in ${node.name}`, { skip: node.skip }, async () => {
      const exported = ["ChatError", "GROUPS", "chat", "history", "merged", "poll", "probe"].join();
      const loads = NAMES.flatMap((name) => [`require("${name}")`, `await import("${name}")`]);
      const lines = loads.map((load) => `console.log(Object.keys(${load}).sort().join());`);
      await writeFile(join(folder, "script.cjs"), `(async () => {${lines.join("")}})()`);
      const older = "--no-experimental-require-module"; // before 20.19, require() loads no ES module
      assert.equal(await outputOf(node, folder, older, "script.cjs"), `${exported}\n`.repeat(loads.length));
    });
  }
});

describe("the types of the packed SDK, as its users and its documents use them,", () => {
  /** The files that each resolution can compile: `await` outside of functions needs ES modules. */
  let files: Record<keyof typeof RESOLUTIONS, string[]>;
  before(async () => {
    const [uses = "", ...pages] = await Promise.all(
      ["test/unit/client/uses.ts", "README.md", "docs/sdk.md", "client/README.md"].map((page) =>
        readFile(join(ROOT, page), "utf8"),
      ),
    );
    const typed = NAMES.map((name) => uses.replace("../../../client/index.ts", name));
    const samples = pages.flatMap((page) => [...page.matchAll(/^```ts\n(.*?)^```$/gms)]);
    const bundler = await written("module", "module", [...typed, ...samples.map(([, code = ""]) => code)]);
    const node10 = await written("commonjs", "commonjs", typed);
    files = { node10, node16: [...bundler, ...node10], bundler };
  });

  for (const [name, tsc, resolutions] of COMPILERS) {
    const skip = !existsSync(tsc) && missingBut(name, "npm run runtimes");
    for (const resolution of resolutions) {
      it(`compile with ${name} and moduleResolution ${resolution}`, { skip }, async () => {
        const common = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2023,dom"];
        const args = [...RESOLUTIONS[resolution], ...common, "--skipDefaultLibCheck", ...files[resolution]];
        await run(process.execPath, [tsc, ...args], { cwd: folder });
      });
    }
  }
});

/** What a library built on the SDK exports without naming its types. */
const EXPORTED = `import { chat, history, merged, poll, probe } from "livechat-relay-client";
const url = "https://relay.example";
export const room = chat(url, { videoId: "v", details: true });
export const some = chat(url, { videoId: "v", types: ["paid"] });
export const channel = chat(url, { channel: "@c", details: true });
export const several = merged(url, { videoIds: ["v"], details: true });
export const past = history(url, { videoId: "v" });
export const polled = poll(url, { videoId: "v", details: true });
export const probed = probe(url, { videoId: "v" });
export const first = async () => { for await (const m of room) return m; };
`;

describe("declarations of what the packed SDK returns", () => {
  it("need no types that it does not export", async () => {
    const [file = ""] = await written("declared", "module", [EXPORTED]);
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    const args = [
      "--declaration",
      "--emitDeclarationOnly",
      "--strict",
      "--target",
      "es2022",
      "--module",
      "nodenext",
    ];
    await run(process.execPath, [tsc, ...args, "--outDir", "declared/out", file], { cwd: folder });
  });
});

/** The names of TypeScript files with these contents, in a folder of modules of this type. */
async function written(
  name: string,
  type: "module" | "commonjs",
  contents: readonly string[],
): Promise<string[]> {
  await mkdir(join(folder, name));
  await writeFile(join(folder, name, "package.json"), JSON.stringify({ type }));
  const names = contents.map((_, index) => join(name, `sample-${index}.ts`));
  for (const [index, name] of names.entries()) await writeFile(join(folder, name), contents[index] ?? "");
  return names;
}

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
  for (const runtime of RUNTIMES) {
    for (const [what, code] of Object.entries(ENDS)) {
      it(`${what} (${runtime.name})`, { skip: runtime.skip }, async () => {
        await using server = await AnsweringServer.start((response, call) =>
          byPath[call.path.split("/")[1] ?? ""]?.(response, call),
        );
        const script = `import { chat, poll } from "livechat-relay-client";
          const [url, videoId, print] = ["${server.url}", "v", (value) => console.log(value)];
          ${code}`;
        await writeFile(join(folder, "script.mjs"), script);
        assert.equal(await outputOf(runtime, folder, "script.mjs"), "1\n");
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

  it("writes deploy/, docs/ and examples/ as the checkout has them", async () => {
    const cwd = await mkdtemp(join(folder, "files-"));
    const { code, out } = await outcomeOfProcess(["files", "."], { main, cwd });
    assert.deepEqual([code, out.split("\n").slice(0, -1)], [0, [...companions().keys()]]);
    for (const [path, read] of companions())
      assert.ok((await readFile(join(cwd, path))).equals(read()), path);
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

  it("reports a missing file in one line", async () => {
    await rm(join(installed, "dist/main.js"));
    const { code, error } = await outcomeOfProcess(["serve", "--port", "0", "--store", "memory:"], { main });
    assert.equal(code, 1);
    assert.match(
      error,
      /^livechat-relay: Cannot find module '[^\n]*main\.js'[^\n]*: install it again, for example by npm ci\n$/,
    );
  });
});

/** The names under which a page's headings can be linked to. */
function headingsOf(markdown: string): Set<string> {
  const headings = [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, text = ""]) => text.toLowerCase());
  return new Set(headings.map((text) => text.replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")));
}
