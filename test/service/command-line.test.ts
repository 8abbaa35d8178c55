/**
 * What a person sees who starts it: help, the demo's lines, one line for whatever cannot be started, and the
 * end.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it, type TestContext } from "node:test";
import { startSimulator } from "../../simulator/index.ts";
import { REPLACED } from "../../src/cli/demo-flags.ts";
import { SETTINGS } from "../../src/cli/setting-table.ts";
import { SCHEMA_VERSION } from "../../src/store/sqlite/sqlite-schema.ts";
import { freePorts } from "../chaos/service.ts";
import { Command, outcome, outcomeInShell, outcomeOfProcess, ROOT, Run } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { testEnvironment } from "../support/relay.ts";
import { temporaryFile } from "../support/store-subject.ts";
import { Stream } from "../support/stream.ts";

const LAUNCHER = join(ROOT, "bin/livechat-relay.js");
const VIDEO = "dQw4w9WgXcQ";
const LISTENING = /listening on (http:\/\/127\.0\.0\.1:\d+)"/;

/** Reports on stderr each module that is loaded, and each use of `Intl`, which loads 7 MB of locale data. */
const LOAD_HOOK = `import { registerHooks } from "node:module";
  registerHooks({ load: (url, context, next) => { console.error(url + (context.conditions.includes("import") ? " by import" : "")); return next(url, context); } });
  for (const name of ["Collator", "DateTimeFormat", "NumberFormat"])
    Intl[name] = new Proxy(Intl[name], { construct: (...args) => { console.error("node:Intl." + name); return Reflect.construct(...args); } });`;
const REPORTING_LOADS = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(LOAD_HOOK)}` };

/**
 * The modules that a service loads before it is asked for anything: its own, of packages, of the thread.
 */
const MODULES_AT_REST = 709;
/**
 * undici, PostgreSQL, an edge, the demo, compilers, locales, and Node's `fetch` behind `import`s of
 * `node:http`.
 */
const UNUSED_AT_REST =
  /node_modules\/(?:pg|undici)\/|src\/(?:store\/postgres\/open|origin\/http-connections)|\/simulator\/|@fastify\/ajv-compiler|^node:Intl|^node:http by import$/;

/** Why some tests do not run on the executable file. */
const OF_CHECKOUT = process.env.RELAY_TEST_FILE !== undefined && "only a checkout has modules";

/** Takes away what the engine of Node.js 24, the oldest version that `engines` allows, does not have. */
const BE_OLD = `for (const [owner, ...names] of [
    [Map.prototype, "getOrInsert", "getOrInsertComputed"], [WeakMap.prototype, "getOrInsert", "getOrInsertComputed"],
    [Uint8Array.prototype, "toBase64", "toHex", "setFromBase64", "setFromHex"], [Uint8Array, "fromBase64", "fromHex"],
    [Math, "sumPrecise"], [Iterator, "concat", "zip", "zipKeyed"], [globalThis, "Temporal"], [Date.prototype, "toTemporalInstant"],
  ]) for (const name of names) delete owner[name];`;
const CLAIM_AGE = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.1.0" } });`;

const temporaryStore = async (t: TestContext): Promise<string> => `sqlite:${await temporaryFile(t)}`;

it("an edge warns of each setting that only its origin uses", async () => {
  const unused = {
    RELAY_STORE: "memory:",
    RELAY_RECORD: "@handle",
    RELAY_EGRESS: "direct",
    RELAY_POLL_MIN_MS: "",
  };
  const env = { ...unused, RELAY_GRACE_MS: "1", RELAY_GRACEMS: "1" };
  const command = new Run(["edge", "--origin", "http://127.0.0.1:9", "--port", "0"], { env });
  await command.printed(/RELAY_GRACEMS/);
  command.signal("SIGTERM");
  assert.equal(await command.exited, 0);
  const warned = command.out.split("\n").flatMap((line) => /"level":40.*"msg":"(.*)"/.exec(line)?.[1] ?? []);
  assert.deepEqual(
    new Set(warned.filter((line) => line.includes("edge"))),
    new Set(
      ["STORE", "RECORD", "EGRESS"].map((name) => `an edge does not use RELAY_${name}: set it at the origin`),
    ),
  );
});

describe("a start that cannot succeed ends with one line that says what to do", () => {
  const rows: [string[], number, RegExp][] = [
    [["serve", "--port", "x"], 2, /: --port: must be a whole number/],
    [["--port", "serve"], 2, /: --port: must be a whole number.*"serve"/],
    [
      ["--store", "nonsense:"],
      2,
      /: --store: must be `sqlite:<path>`, `memory:` or `postgres:\/\/…`, not "nonsense:"/,
    ],
    [["--store", "sqlite::memory:"], 2, /: --store: must be .*`memory:`.*, not "sqlite::memory:"/],
    [["migrate-store", "memory:", "sqlite:x.db"], 2, /: <from>: must be sqlite:<path> or postgres:/],
    [["migrate-store", "sqlite:x.db", "sqlite:x.db"], 2, /: <from> and <to> are the same store: /],
    [
      ["migrate-store", "sqlite:/proc/no/x.db", "sqlite:x.db"],
      1,
      /: store \/proc\/no\/x\.db does not exist$/m,
    ],
    [["--store", "sqlite:/proc/no/such.db"], 1, /RELAY_STORE: .*folder cannot be made.*choose a file/],
    [
      ["--store", `sqlite:${ROOT}`],
      1,
      /RELAY_STORE: \S+ is a folder: name a file in it, such as \S+\/relay\.db$/m,
    ],
    [
      ["--restored", "on", "--store", "sqlite:/proc/no/relay.db"],
      1,
      /RELAY_RESTORED: there is no file to restore: put the backup at \/proc\/no\/relay\.db, then start again$/m,
    ],
    [["serve", "--retention-days", "-1"], 2, /--retention-days.*--help/],
    [["--poll-min-ms", "2", "--poll-max-ms", "1"], 2, /RELAY_POLL_MIN_MS/],
    [["--egress", "ip:192.0.2.7"], 2, /RELAY_EGRESS: 192\.0\.2\.7 is not an address of this machine/],
    [["--clients-file", "/nowhere.json"], 2, /: --clients-file: must be .*no such file/],
    [["edge"], 2, /: --origin or RELAY_ORIGIN is missing: the base URL of .*; see --help$/m],
    [["srve"], 2, /"srve" is not a command; did you mean serve\?.*--help/],
    [["nonsense", "--help"], 2, /"nonsense" is not a command \(--help/],
    [
      ["watch", "x", "--types", "paid,superchta"],
      2,
      /--types: "superchta" is neither a type nor a group of messages; did you mean superchat\?$/m,
    ],
    [
      ["watch", "x", "--types", "nonsense"],
      2,
      /"nonsense" is neither a type nor a group of messages; use one of chat, paid, .*superchat, /,
    ],
    [["watch", "x", "--types", ""], 2, /: --types needs a value; see --help$/m],
    [["export", "x", "--types="], 2, /: --types needs a value; see --help$/m],
    [["export", "x", "--output="], 2, /: --output needs a value; see --help$/m],
    [["export", "x", "--since", ""], 2, /: --since needs a value; see --help$/m],
    [["watch", "x", "--post= "], 2, /: --post needs a value; see --help$/m],
    [["rooms", "--token-file="], 2, /: --token-file needs a value; see --help$/m],
    [["serve", "--record="], 2, /: --record needs a value; see --help$/m],
    [["--versoin"], 2, /--versoin is not a flag; did you mean --version\?/],
    [["--version=1"], 2, /--version takes no value/],
    [["probe", "x", "--hlep"], 2, /--hlep is not a flag; did you mean --help\?/],
    [["watch", VIDEO, "@handle"], 2, /watch reads one chat: .* GET \/v1\/merged$/m],
    [["watch", `${VIDEO},@handle`], 2, /watch reads one chat: /],
    [["WATCH", VIDEO], 2, /"WATCH" is not a command; did you mean watch\?/],
    [["watch", VIDEO, "--details"], 2, /: --details needs --json: text shows no details; see --help$/m],
    [["watch", VIDEO, "--no-colour"], 2, /--no-colour is not a flag \(see --help\)$/m],
    [["export", VIDEO, "--no-colour"], 2, /--no-colour is not a flag \(see --help\)$/m],
    [["watch", VIDEO, "--backfills", "5"], 2, /--backfills is not a flag; did you mean --backfill\?/],
    [["record", "add", "-abcdefghij"], 2, /RELAY_ADMIN_TOKEN \(--admin-token\) is missing/],
    [["record", "-abcdefghij", "add"], 2, /<action>: must be one of list, add, remove/],
    [
      ["export", VIDEO, "@handle", "--output", "x"],
      2,
      /"@handle" is neither the id nor the URL of a video$/m,
    ],
    [
      ["export", VIDEO, "<dQw4\u200bw9WgXcQ>", "--output", "x"],
      2,
      /"dQw4U\+200Bw9WgXcQ" is neither the id nor the URL of a video$/m,
    ],
    [
      ["import", "x", "--video", "a\u200bb"],
      2,
      /--video: must be the id or the URL of a video, not "aU\+200Bb"/,
    ],
    [["help", "dmo"], 2, /"dmo" is not a command; did you mean demo\?/],
    [["serve", "demo"], 2, /demo.*--help/],
    [["serve", "--rate", "1"], 2, /--rate is not a flag/],
    [["demo", "--rate", "0"], 2, /--rate: must be messages per second/],
    [["watch", "v", "--server", "http://relay/?key=x"], 2, /: --server: must be .* without a .*query/],
    [
      ["demo", "--capture", "/no/such/file"],
      2,
      /--capture: \/no\/such\/file cannot be read \(ENOENT\); name a captured answer/,
    ],
  ];
  for (const [args, expected, line] of rows) {
    it(args.join(" "), async () => {
      // Warnings must not come before it.
      const env = { RELAY_PORT: "0", RELAY_MAX_VIEWERS: "9999999", RELAY_GRACEMS: "1" };
      const { code, out, error } = await outcome(args, { env });
      assert.equal(code, expected);
      assert.equal(out, "");
      assert.match(error, /^livechat-relay: [^\n]+\n$/);
      assert.match(error, line);
    });
  }

  for (const [command, proxy] of [
    ["serve", "notaurl"],
    ["serve", "http://%zz@proxy.example"],
    ["serve", "proxy.example:3128"],
    ["demo", "notaurl"],
  ] as const) {
    it(`${command} with a proxy that cannot be used: ${proxy}`, async (t) => {
      process.env.HTTPS_PROXY = proxy;
      t.after(() => delete process.env.HTTPS_PROXY);
      const env = { HTTPS_PROXY: proxy };
      const { code, error } = await outcome([command, "--port", "0", "--store", "memory:"], { env });
      assert.equal(code, 1);
      assert.match(error, /^livechat-relay: HTTPS_PROXY, HTTP_PROXY: must be a URL such as [^\n]+\n$/);
    });
  }
});

it("the service and its workers run with the functions that Node.js 24 has", async (t) => {
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(BE_OLD)}`;
  const store = await temporaryStore(t);
  for (const args of [
    ["demo", "--store", store],
    ["demo", "--store", store, "--workers", "2"],
  ]) {
    const [port = 0] = await freePorts(1);
    const demo = new Command([...args, "--port", `${port}`, "--rate", "50"], { env: { NODE_OPTIONS } });
    t.after(() => demo.child.kill("SIGKILL"));
    const url = await demo.printed(/Page +(\S+)\/\?/);
    await eventually(200, async () => (await fetch(`${url}/readyz`)).status); // with its worker
    for (let connection = 0; connection < 8; connection++) {
      await using stream = await Stream.open(url, { videoId: "demo-stream" }); // of one worker or another
      await stream.untilMessages(30);
    }
    assert.equal((await fetch(`${url}/v1/rooms/demo-stream`)).status, 200); // the thread adds up
    demo.child.kill("SIGINT");
    assert.deepEqual(await demo.exited, [0, null], demo.error);
  }
});

describe("a Node.js version that is too old", () => {
  const installed = "/usr/bin/node";
  const isOld = isOlderThan(24, installed);
  const node = isOld ? installed : process.execPath;
  // If no old one is installed, the project's own claims to be one.
  const env = isOld ? {} : { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(CLAIM_AGE)}` };
  for (const [main, args] of [
    [LAUNCHER, ["serve"]],
    [LAUNCHER, ["demo"]],
    [join(ROOT, "bin/check-node.js"), []],
  ] as const) {
    it(`is reported in one line by ${[main.slice(ROOT.length + 1), ...args].join(" ")}`, async () => {
      const { code, out, error } = await outcomeOfProcess([...args], { node, main, env });
      assert.equal(code, 1);
      assert.equal(out, "");
      assert.match(error, /^livechat-relay: Node\.js \d[\d.]+ is too old: 24 or newer is needed[^\n]*\n$/);
    });
  }
});

function isOlderThan(major: number, node: string): boolean {
  const { stdout, error } = spawnSync(node, ["-p", "process.versions.node"], { encoding: "utf8" });
  return !error && Number.parseInt(stdout, 10) < major;
}

it("the npm scripts run in Windows' shell, too: as plain commands, or by exec.cmd for exec", async () => {
  const { scripts } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  assert.equal(
    await readFile(join(ROOT, "exec.cmd"), "utf8").then((text) => text.trimEnd().endsWith("\n@%*")),
    true,
  );
  for (const [name, script] of Object.entries<string>(scripts)) {
    const commands = script.replace(/^exec (?=node bin\/)/, "").split(" && ");
    for (const command of commands)
      assert.match(command, /^(node|npm|tsc|biome|knip|publint)( [\w./:=*"-]+)*$/, name);
  }
});

describe("help", () => {
  it("lists commands and settings, and the flags of each command", async () => {
    const lines = ["--help", "demo --help", "help demo", "help", "help help", "help --help"];
    const printed = await Promise.all(lines.map((line) => outcome(line.split(" "))));
    const [all, demo, demoHelp, ...same] = printed;
    assert.ok(all && demo);
    for (const help of same) assert.deepEqual(help, all);
    assert.deepEqual(demoHelp, demo);
    for (const { code, out, error } of [all, demo]) {
      assert.equal(code, 0);
      assert.equal(error, "");
      assert.match(out, /\nCommon settings:\n {2}RELAY_HOST, --host \(default 127/);
      assert.match(out, / {2}RELAY_PORT, --port \(default 8080\)/);
    }
    for (const name of Object.keys(SETTINGS)) {
      assert.ok(all.out.includes(name), name);
      assert.equal(demo.out.includes(`  ${name}, `), !(name in REPLACED), name);
    }
    assert.match(all.out, /^ {2}serve .*\n {2}demo /m);
    assert.doesNotMatch(all.out, /--rate/);
    assert.match(demo.out, /--rate \(default 5\)/);
  });

  it("prints the version and the commit", async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
    const expected = new RegExp(`^${version.replaceAll(".", "\\.")} \\([0-9a-f]{12}\\)\n$`);
    for (const args of [["--version"], ["-v"], ["watch", "--version"]]) {
      const { code, out, error } = await outcome(args);
      assert.deepEqual([code, error], [0, ""]);
      assert.match(out, expected);
    }
  });

  it("loads neither the HTTP server nor a store", { skip: OF_CHECKOUT }, async () => {
    const { error } = await outcomeOfProcess(["--help"], { env: REPORTING_LOADS });
    assert.match(error, /src\/cli\/main\.ts/);
    assert.doesNotMatch(error, /fastify|sqlite/);
  });

  it("loads no command to print the version", { skip: OF_CHECKOUT }, async () => {
    const { error } = await outcomeOfProcess(["--version"], { env: REPORTING_LOADS });
    assert.deepEqual(
      error.match(/src\/\S+/g),
      ["cli/main", "cli/start", "base/commit", "base/own-files", "cli/output", "base/file-trouble"].map(
        (name) => `src/${name}.ts`,
      ),
    );
    assert.doesNotMatch(error, /node_modules/);
  });
});

describe("a command that prints a text", () => {
  for (const command of ["help", "--version", "--licenses", "token --right watch"]) {
    const env = { RELAY_TOKEN_KEY: "a-secret-of-thirty-two-bytes-and-more" };
    it(`${command} succeeds if its reader has left, and says in one line that its disk is full`, async () => {
      const left = await outcomeInShell(`relay ${command} | true`, { env });
      assert.deepEqual([left.code, left.error], [0, ""]);
      const full = await outcomeInShell(`relay ${command} > /dev/full`, { env });
      assert.equal(full.code, 1);
      assert.match(
        full.error,
        /^livechat-relay: standard output cannot be written: its disk is full: [^\n]+\n$/,
      );
    });
  }
});

describe("serve", () => {
  it("loads only what a service at rest needs", { skip: OF_CHECKOUT }, async (t) => {
    const env = { ...REPORTING_LOADS, RELAY_STORE: await temporaryStore(t), RELAY_PORT: "0" };
    const serve = new Command(["serve"], { env });
    await serve.printed(LISTENING);
    serve.child.kill("SIGTERM");
    await serve.exited;
    const loaded = new Set(serve.error.match(/^(?:file|node):\S+(?: by import)?$/gm));
    assert.deepEqual(
      [...loaded].filter((url) => UNUSED_AT_REST.test(url)),
      [],
    );
    const more = "load what only some services use by a dynamic import, or raise the number with a reason";
    assert.ok(loaded.size > 300 && loaded.size <= MODULES_AT_REST, `${loaded.size} modules: ${more}`);
  });

  it("prints where it listens, whatever the log's level", async (t) => {
    const store = await temporaryStore(t);
    const serve = new Run(["--port", "0", "--store", store, "--log-level", "silent"]);
    const url = await serve.printed(LISTENING);
    await eventually(200, async () => (await fetch(`${url}/readyz`)).status);
    serve.signal("SIGTERM");
    assert.equal(await serve.exited, 0);
  });

  it("says that it created a new store, so that a typo in the name is noticed", async (t) => {
    const store = await temporaryStore(t);
    for (const isNew of [true, false]) {
      const serve = new Run(["--port", "0", "--store", store]);
      await serve.printed(LISTENING);
      assert.equal(serve.out.includes('"made a new store"'), isNew);
      serve.signal("SIGTERM");
      await serve.exited;
    }
  });

  it("says in one line what runs, on which store, with which limits and settings, without secrets", async (t) => {
    const store = await temporaryStore(t);
    const env = {
      RELAY_STORE: store,
      RELAY_PORT: "0",
      RELAY_MAX_ROOMS: "7",
      RELAY_GRACE_MS: "90000",
      RELAY_ADMIN_TOKEN: "a-secret-of-16-characters",
      RELAY_EGRESS: "office=http://me:a-secret@127.0.0.1:3128",
      RELAY_UPSTREAM_URL: "http://me:a-secret@127.0.0.1:1",
    };
    const serve = new Run([], { env });
    await serve.printed(/"msg":"started/);
    serve.signal("SIGTERM");
    await serve.exited;
    assert.doesNotMatch(serve.out, /a-secret/);
    const line = serve.out.split("\n").find((text) => text.includes('"msg":"started'));
    const { version, commit, node, store: opened, workers, limits, settings } = JSON.parse(line ?? "");
    assert.match(`${version} ${commit} ${node}`, /^\d+\.\d+\.\d+ [0-9a-f]{40} \d+\.\d+\.\d+$/);
    assert.deepEqual(opened, { place: store.replace("sqlite:", ""), schema: SCHEMA_VERSION });
    assert.equal(workers, 1);
    assert.deepEqual(Object.keys(limits).sort(), ["connections", "files", "memoryBytes", "rooms", "viewers"]);
    assert.equal(limits.rooms, 7);
    assert.deepEqual(settings, {
      RELAY_PORT: "0",
      RELAY_STORE: store,
      RELAY_ADMIN_TOKEN: "…",
      RELAY_MAX_ROOMS: "7",
      RELAY_EGRESS: "…",
      RELAY_UPSTREAM_URL: "http://…@127.0.0.1:1",
    });
  });

  const rows: [string, NodeJS.ProcessEnv, RegExp[]][] = [
    ["nothing if nothing was set", { RELAY_PORT: "" }, []],
    ["a limit above that of open files", { RELAY_MAX_VIEWERS: "9999999" }, [/^started with lower limits/]],
    ["a setting of an edge", { RELAY_ORIGIN: "http://a.example" }, [/^serve does not use RELAY_ORIGIN: /]],
    ["a misspelt setting", { RELAY_GRACEMS: "1" }, [/^RELAY_GRACEMS is not .* RELAY_GRACE_MS\? /]],
  ];
  for (const [what, env, expected] of rows) {
    it(`warns about ${what}`, async () => {
      const limited = { RELAY_MAX_VIEWERS: "10", ...env }; // the machine may allow less than the default
      const serve = new Run(["--port", "0", "--store", "memory:"], { env: limited });
      await serve.printed(LISTENING);
      serve.signal("SIGTERM");
      await serve.exited;
      const lines = serve.out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      const warnings = lines.filter(({ level }) => level >= 40).map(({ msg }) => String(msg));
      assert.equal(warnings.length, expected.length, warnings.join());
      for (const [index, pattern] of expected.entries()) assert.match(warnings[index] ?? "", pattern);
    });
  }
});

describe("a signal", () => {
  it("also stops it before the service listens", async () => {
    const serve = new Run(["--port", "0", "--store", "memory:"]);
    serve.signal("SIGTERM");
    assert.equal(await serve.exited, 0);
    assert.doesNotMatch(serve.out, LISTENING);
  });

  it("is still taken while the process exits, as npm's copy of it may come late", async () => {
    const serve = new Run(["--port", "0", "--store", "memory:"]);
    await serve.printed(LISTENING);
    serve.signal("SIGTERM");
    await serve.exited;
    assert.ok(serve.takenAtExit.includes("SIGTERM"));
  });

  it("also stops it while the start waits for its store", async () => {
    const [port = 0] = await freePorts(1);
    const serve = new Run(["--port", "0", "--store", `postgres://nobody@127.0.0.1:${port}/none`]);
    await serve.printed(/the start waits for it/);
    serve.signal("SIGINT");
    assert.equal(await serve.exited, 0); // 1 if the wait is over first
  });

  it("stops it even if nobody reads its log any more", async () => {
    const serve = new Command(["--port", "0", "--store", "memory:"]);
    await serve.printed(LISTENING);
    serve.child.stdout?.destroy();
    serve.child.kill("SIGTERM");
    assert.deepEqual(await serve.exited, [0, null]);
  });

  it("that comes a second time, more than a second later, ends it at once", async (t) => {
    await using upstream = await startSimulator();
    upstream.chat(VIDEO);
    const serve = new Run([], { env: testEnvironment(upstream) });
    await using _viewer = await Stream.open(await serve.printed(LISTENING), { videoId: VIDEO });
    const unanswered = upstream.fault({ on: "get_live_chat", times: 1, as: "silent" });
    while (unanswered.fired === 0) await upstream.requested("get_live_chat", { videoId: VIDEO });
    serve.signal("SIGTERM");
    await serve.printed(/"stopping"/);
    // The command has no clock but the computer's.
    const now = performance.now.bind(performance);
    t.mock.method(performance, "now", () => now() + 1001);
    serve.signal("SIGTERM");
    assert.equal(await serve.exited, 1);
    assert.doesNotMatch(serve.out, /"stopped"/);
  });

  it("to npm start alone reaches the service", async () => {
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, RELAY_PORT: "0", RELAY_STORE: "memory:" };
    const npm = new Command([], { node: "npm", main: "start", env });
    await npm.printed(LISTENING);
    npm.child.kill("SIGTERM");
    assert.deepEqual(await npm.exited, [0, null], npm.out);
    assert.match(npm.out, /"stopped"/);
  });

  it("to the whole process group of npm start, which arrives twice, stops it gracefully", async (t) => {
    const upstream = await startSimulator();
    t.after(() => upstream.close());
    upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 20 }).speak(100);
    const { PATH, HOME } = process.env;
    const stopOnce = async (signal: NodeJS.Signals) => {
      const store = await temporaryStore(t);
      const env = { PATH, HOME, ...testEnvironment(upstream, { RELAY_STORE: store }) };
      const npm = new Command([], { node: "npm", main: "start", env, detached: true });
      const url = await npm.printed(LISTENING);
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        get(`${url}/v1/stream?videoId=${VIDEO}`, { agent: false }, resolve).on("error", reject);
      });
      let stream = "";
      response.setEncoding("utf8").on("data", (text) => (stream += text));
      while (!stream.includes("id: ")) await once(response, "data");
      process.kill(-(npm.child.pid ?? Number.NaN), signal);
      await once(response, "end");
      assert.deepEqual(await npm.exited, [0, null], npm.out);
      assert.ok(response.complete, "the stream was cut");
      assert.doesNotMatch(stream, /^event: (end|error)$/m);
      const lastSeen = Number([...stream.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1]);
      const database = new DatabaseSync(store.slice("sqlite:".length));
      const head = Number(database.prepare("select head from room").get()?.head);
      database.close();
      assert.ok(head >= lastSeen, "what was sent is not stored");
    };
    await Promise.all((["SIGINT", "SIGTERM"] as const).map(stopOnce));
  });
});
