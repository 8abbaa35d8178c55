/** `check` and `serve --check`: each line, the exit code, the report, and that nothing is changed. */
import assert from "node:assert/strict";
import { chownSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it, type TestContext } from "node:test";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { SCHEMA_VERSION } from "../../src/store/sqlite/sqlite-schema.ts";
import { freePorts } from "../chaos/service.ts";
import { adding, COMMON, runs } from "../support/chat-items.ts";
import { outcome, Run } from "../support/command.ts";
import { testEnvironment } from "../support/relay.ts";
import { temporaryFile } from "../support/store-subject.ts";

const VIDEO = "dQw4w9WgXcQ";
/** Few viewers: the machine may allow less than the default. */
const SETTINGS = { RELAY_MAX_VIEWERS: "10", RELAY_HOST: "127.0.0.1" } as const;

async function checked(
  t: TestContext,
  {
    upstream,
    args = ["check", VIDEO],
    env = {},
  }: { upstream: Simulator; args?: string[]; env?: NodeJS.ProcessEnv },
) {
  const store = `sqlite:${await temporaryFile(t)}`;
  const given = { ...testEnvironment(upstream, { RELAY_STORE: store, ...SETTINGS }), ...env };
  const { code, out, error } = await outcome(args, { env: given });
  assert.match(out, /^(?:(?:ok {2}|warn|fail) {2}[a-z]+ +\S.*\n)*$/);
  return { code, out, error, lines: out.split("\n").map((line) => line.replaceAll(/ {2,}/g, " ")) };
}

/** All files of the folder with their content and times. */
const stateOf = (folder: string) =>
  readdirSync(folder).map((name) => {
    const { size, mtimeMs, uid, mode } = statSync(`${folder}/${name}`);
    return { name, size, mtimeMs, uid, mode, bytes: readFileSync(`${folder}/${name}`).toString("base64") };
  });

describe("check of a video", () => {
  it("says step by step that it reads, with view, pair and messages a minute", async (t) => {
    await using upstream = await startSimulator();
    upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 20 }).say(30);
    const { code, lines } = await checked(t, { upstream });
    assert.equal(code, 0);
    for (const form of [
      /^ok settings valid; set: .*RELAY_UPSTREAM_URL/,
      /^ok store new, the start makes it, .* free on its disk: \/\S+\/relay\.db$/,
      /^ok port free: 127\.0\.0\.1 port 0$/,
      /^ok files /,
      /^ok egress direct: answered after \d+ ms$/,
      /^ok page \/sw\.js: HTTP 200, \d+ bytes, \d+ ms: client version [\d.]+, a key$/,
      /^ok page \/live_chat: HTTP 200, \d+ kB, \d+ ms: client version [\d.]+, a key; a live chat, all messages, \d+ actions$/,
      /^ok call WEB get_live_chat: HTTP 200, .*: \d+ actions, a next token, to be used in 0\.02 s$/,
      /^ok chat a live chat$/,
      /^ok pair WEB get_live_chat$/,
      /^ok view all messages$/,
      /^ok pace about \d+ messages a minute, by the times of \d+$/,
      /^ok reads yes: all messages of dQw4w9WgXcQ$/,
    ])
      assert.ok(
        lines.some((line) => form.test(line)),
        `${form} in\n${lines.join("\n")}`,
      );
    assert.equal(upstream.requests.filter(({ kind }) => kind === "get_live_chat").length, 2);
  });

  it("reads a replay, by another client, from the watch page", async (t) => {
    await using upstream = await startSimulator();
    const works = [{ client: "TVHTML5" }];
    upstream.chat(VIDEO, { kind: "replay", foundOn: "watch", works, timeoutMs: 20 }).say(100);
    const { code, out } = await checked(t, { upstream });
    assert.equal(code, 0, out);
    assert.match(out, /^warn {2}page +\/live_chat: .* no chat/m);
    assert.match(out, /^ok {4}page +\/watch: .* a replay/m);
    assert.match(out, /^warn {2}call +WEB get_live_chat: HTTP 4/m);
    assert.match(out, /^ok {4}pair +TVHTML5 get_live_chat$/m);
    assert.match(out, /^ok {4}pace +about \d+ messages a minute at the beginning of the video/m);
  });

  const failures: [string, (upstream: Simulator) => unknown, RegExp[]][] = [
    [
      "there is no chat",
      (upstream) => upstream.chat(VIDEO, { kind: "none", stream: "never" }),
      [
        /^warn {2}page +\/watch: .*no chat \(none\)/m,
        /^fail {2}reads +no: no chat \(none\): .*\. Check the id/m,
      ],
    ],
    [
      "YouTube throttles",
      (upstream) => upstream.fault({ on: "sw.js", times: 9, as: { status: 429 } }),
      [
        /^fail {2}egress +direct: YouTube throttles it: .*\. Wait/m,
        /^fail {2}reads +no: no egress works: see the lines above$/m,
      ],
    ],
    [
      "YouTube shows a wall",
      (upstream) => upstream.fault({ on: ["popout", "watch", "next"], times: 9, as: "consent" }),
      [/no chat \(unknown\): YouTube asks for consent/, /^fail {2}reads +no: no chat \(unknown\)/m],
    ],
    [
      "the answers have another form",
      (upstream) => {
        upstream.chat(VIDEO).say(3);
        const as = { status: 200, body: { chatOfTheFuture: {} } };
        upstream.fault({ on: ["get_live_chat", "get_live_chat_replay"], times: 9, as });
      },
      [/^fail {2}reads +no \(NO_WORKING_CLIENT\): .*\. YouTube may have changed: .*--report/m],
    ],
    [
      "the token of the first answer brings nothing",
      (upstream) => {
        upstream.chat(VIDEO, { timeoutMs: 20 }).say(3);
        const real = {
          answer: (response: { end(body: string): unknown }, answer: () => { body: string }) =>
            response.end(answer().body),
        };
        upstream.fault({ on: "get_live_chat", times: 1, as: real });
        upstream.fault({ on: "get_live_chat", times: 9, as: { status: 500 } });
      },
      [/^ok {4}pair /m, /^fail {2}reads +no \(unusable\)/m],
    ],
  ];
  for (const [what, make, expected] of failures) {
    it(`says why it does not read, and fails: ${what}`, async (t) => {
      await using upstream = await startSimulator();
      make(upstream);
      const { code, out } = await checked(t, { upstream });
      assert.equal(code, 1, out);
      for (const form of expected) assert.match(out, form);
    });
  }

  it("names each egress that gets no answer, and reads through another", async (t) => {
    await using upstream = await startSimulator();
    upstream.chat(VIDEO, { timeoutMs: 20 }).say(3);
    const [port] = await freePorts(1);
    const env = { RELAY_EGRESS: `dead=http://me:a-secret@127.0.0.1:${port},direct` };
    const { code, out, error } = await checked(t, { upstream, env });
    assert.equal(code, 1);
    assert.doesNotMatch(out + error, /a-secret/);
    assert.match(
      out,
      /^fail {2}egress +dead: its proxy gives no connection: http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED.*\. Check the proxy$/m,
    );
    assert.match(out, /^ok {4}egress +direct: answered/m);
    assert.match(out, /^ok {4}reads +yes/m);
  });

  it("says that the upstream cannot be reached", async (t) => {
    await using upstream = await startSimulator();
    const [port] = await freePorts(1);
    const { code, out } = await checked(t, {
      upstream,
      env: { RELAY_UPSTREAM_URL: `http://127.0.0.1:${port}` },
    });
    assert.equal(code, 1);
    assert.match(out, /^fail {2}egress +direct: no connection: .*ECONNREFUSED/m);
  });

  it("lets no text of YouTube's control the terminal", async (t) => {
    await using upstream = await startSimulator();
    upstream.chat(VIDEO).say(3);
    const message = "\u001b]0;owned\u0007\u202egnirts\r\nok    reads     yes";
    const as = { status: 403, body: { error: { code: 403, message } } };
    upstream.fault({ on: ["get_live_chat", "get_live_chat_replay"], times: 9, as });
    const { code, out } = await checked(t, { upstream });
    assert.equal(code, 1);
    assert.doesNotMatch(out, /[^\P{Cc}\n]|\u202e|^ok {4}reads/mu);
  });

  it("refuses a channel, and a report without a video or over a file, as wrong usage", async (t) => {
    await using upstream = await startSimulator();
    const file = await temporaryFile(t);
    writeFileSync(file, "mine");
    for (const [args, form] of [
      [["check", "@handle"], /<video>: .*is a channel, not a video/],
      [["check", "--report", `${file}-2`], /--report needs a video/],
      [["check", VIDEO, "--report", file], /--report: \S+ exists already: name another file$/m],
      [["check", VIDEO, "--report", "/no/such/report"], /--report: .*the folder \/no\/such does not exist/],
      [["check", "--port", "x"], /--port: must be/],
    ] as const) {
      const { code, out, error } = await checked(t, { upstream, args: [...args] });
      assert.deepEqual([code, out], [2, ""]);
      assert.match(error, form);
    }
    assert.equal(readFileSync(file, "utf8"), "mine");
    assert.equal(upstream.requests.length, 0);
  });
});

describe("check --report", () => {
  const COOKIE = "SID=marker-of-a-cookie";
  const markers = (name: string) => ({
    id: `marker-id-${name}`,
    authorName: { simpleText: `@marker-author-${name}` },
    authorExternalChannelId: `UCmarker-channel-${name}`,
    message: runs(`marker-text-${name}`, `marker-run-${name}`),
    contextMenuEndpoint: { liveChatItemContextMenuEndpoint: { params: `marker-params-${name}` } },
  });
  const item = (name: string) =>
    adding({
      liveChatTextMessageRenderer: { ...COMMON, ...markers(name), timestampUsec: `${Date.now()}000` },
    });
  const KINDS = [
    "sw.js",
    "sw.js_data",
    "popout",
    "watch",
    "next",
    "get_live_chat",
    "get_live_chat_replay",
  ] as const;

  /** The upstream's answers, each with a cookie. */
  function recorded(upstream: Simulator): string[] {
    const bodies: string[] = [];
    upstream.fault({
      on: KINDS,
      times: Number.POSITIVE_INFINITY,
      as: {
        answer: (response, real) => {
          const { status, headers, body } = real();
          bodies.push(body);
          response.writeHead(status, { ...headers, "set-cookie": COOKIE }).end(body);
        },
      },
    });
    return bodies;
  }

  /** The texts in a body, and the names of its fields. */
  function textsIn(body: string): { texts: string[]; fields: string[] } {
    const quoted = [...body.matchAll(/"((?:[^"\\\n]|\\.)*)"(\s*:)?/g)];
    const plain = (text: string) => {
      try {
        return String(JSON.parse(`"${text}"`));
      } catch {
        return text;
      }
    };
    return {
      texts: quoted.filter(([, , colon]) => !colon).map(([, text = ""]) => plain(text)),
      fields: quoted.filter(([, , colon]) => colon).map(([, text = ""]) => text),
    };
  }

  const stages: [string, Parameters<Simulator["chat"]>[1] & object][] = [
    ["a live chat", { timeoutMs: 20 }],
    ["a replay on the watch page alone", { kind: "replay", foundOn: "watch", timeoutMs: 20 }],
    ["data in a string", { initialData: "escaped", timeoutMs: 20 }],
    ["calls that are refused", { works: [] }],
    ["no chat", { kind: "members-only" }],
  ];
  for (const [what, scenario] of stages) {
    it(`has no name, text, token, cookie or key of any answer: ${what}`, async (t) => {
      await using upstream = await startSimulator();
      const chat = upstream.chat(VIDEO, scenario);
      if (scenario.kind !== "members-only") {
        chat.say(60); // of all kinds
        chat.say([item("a"), item("b")]);
      }
      const bodies = recorded(upstream);
      const file = await temporaryFile(t);
      const { out } = await checked(t, { upstream, args: ["check", VIDEO, "--report", file] });
      assert.match(out, /^ok {4}report +without names, texts and tokens/m);
      const report = readFileSync(file, "utf8");
      const { credentials, requests } = upstream;
      const tokens = requests.map(({ continuation }) => continuation).filter((token) => token !== undefined);
      const all = bodies.map(textsIn);
      const fields = all.flatMap((body) => body.fields).join("\n");
      const kept = new Set([
        credentials.clientVersion,
        "text/html",
        "application/json",
        VIDEO,
        "ytInitialData",
        "ytInitialPlayerResponse",
      ]);
      const texts = new Set(all.flatMap((body) => body.texts));
      const secrets = [...texts].filter(
        (text) => text.length >= 6 && !fields.includes(text) && !kept.has(text) && !/^[A-Z_]+$/.test(text),
      );
      assert.ok(secrets.length > 10, `${secrets.length}`);
      for (const secret of [
        ...secrets,
        ...tokens,
        credentials.apiKey,
        credentials.visitorData,
        COOKIE,
        "marker-",
      ])
        assert.ok(!report.includes(secret), `${JSON.stringify(secret)} in the report`);
      if (what.includes("live") || what.includes("replay")) {
        assert.ok(bodies.some((body) => body.includes("marker-text-a") && body.includes("@marker-author-b")));
        assert.match(report, /"liveChatTextMessageRenderer"/); // the form is there
        assert.match(report, /"authorName"/);
      }
      const { program, exchanges, findings } = JSON.parse(report);
      assert.equal(program.node, process.versions.node);
      assert.equal(exchanges.length, requests.length);
      assert.equal(findings.length, out.trim().split("\n").length - 1);
    });
  }

  it("quotes no error of YouTube's, which may repeat a token, and no place of this machine", async (t) => {
    await using upstream = await startSimulator();
    upstream.chat(VIDEO).say([item("a")]);
    const body = { error: { code: 400, message: "marker-of-an-error", status: "INVALID_ARGUMENT" } };
    upstream.fault({ on: ["get_live_chat", "get_live_chat_replay"], times: 9, as: { status: 400, body } });
    upstream.fault({ on: "watch", times: 9, as: { redirect: "/marker-path?marker-query" } });
    const [file, store] = [await temporaryFile(t), await temporaryFile(t)];
    const env = { RELAY_STORE: `sqlite:${store}` };
    const { out } = await checked(t, { upstream, args: ["check", VIDEO, "--report", file], env });
    assert.match(out, /marker-of-an-error/);
    assert.ok(out.includes(store));
    const report = readFileSync(file, "utf8");
    assert.doesNotMatch(report, /marker/);
    assert.ok(!report.includes(store));
    assert.match(report, /"status": "INVALID_ARGUMENT"/);
  });
});

describe("serve --check", () => {
  it("makes no call, and says what a start would find", async (t) => {
    await using upstream = await startSimulator();
    const env = { RELAY_GRACEMS: "1", RELAY_ORIGIN: "http://a.example" };
    const { code, out } = await checked(t, { upstream, args: ["serve", "--check"], env });
    assert.equal(code, 0);
    assert.match(out, /^warn {2}settings +RELAY_GRACEMS is not a setting; did you mean RELAY_GRACE_MS\?/m);
    assert.match(out, /^warn {2}settings +serve does not use RELAY_ORIGIN/m);
    assert.doesNotMatch(out, /egress|reads/);
    assert.equal(upstream.requests.length, 0);
  });

  it("fails for a port in use, unless a service runs on it, whose store it leaves alone", async (t) => {
    await using upstream = await startSimulator();
    const store = await temporaryFile(t);
    const [port = 0] = await freePorts(1);
    const env = { RELAY_STORE: `sqlite:${store}`, RELAY_PORT: `${port}` };
    const serve = new Run([], { env: testEnvironment(upstream, env) });
    await serve.printed(/listening on/);
    try {
      // A read after the start's last write; it marks its place in SQLite's index of the log.
      assert.equal((await fetch(`http://127.0.0.1:${port}/v1/rooms`)).status, 200);
      const before = stateOf(dirname(store));
      const { code, out } = await checked(t, { upstream, args: ["serve", "--check"], env });
      assert.equal(code, 0, out);
      assert.match(
        out,
        /^ok {4}store +schema \d+, 0 rooms, .*; a running service has it, so it was only looked at: /m,
      );
      assert.match(out, /^ok {4}port +a running service answers there: 127\.0\.0\.1 port \d+$/m);
      assert.deepEqual(stateOf(dirname(store)), before);
    } finally {
      serve.signal("SIGTERM");
      await serve.exited;
    }
    const simulated = new URL(upstream.urls.main).port; // another program
    const taken = await checked(t, {
      upstream,
      args: ["serve", "--check"],
      env: { ...env, RELAY_PORT: simulated },
    });
    assert.equal(taken.code, 1);
    assert.match(taken.out, /^fail {2}port +not free: cannot listen on .*EADDRINUSE.*RELAY_PORT/m);
    assert.match(taken.out, /^ok {4}store +schema \d+, 0 rooms/m);
  });

  /** A closed store, changed by this statement. */
  async function storeWith(t: TestContext, upstream: Simulator, sql: string): Promise<string> {
    const store = await temporaryFile(t);
    const serve = new Run([], { env: testEnvironment(upstream, { RELAY_STORE: `sqlite:${store}` }) });
    await serve.printed(/listening on/);
    serve.signal("SIGTERM");
    await serve.exited;
    using database = new DatabaseSync(store);
    database.exec(sql);
    return store;
  }

  const isRoot = process.getuid?.() === 0;
  const stores: [string, string, RegExp, number][] = [
    ["as it is", "select 1", /^ok {4}store +schema \d+, 0 rooms, \d+ kB, /m, 0],
    [
      "of a newer schema",
      `pragma user_version = ${SCHEMA_VERSION + 1}`,
      /^fail {2}store +the service cannot start on it: store \S+ has schema \d+, this program knows \d+: start a newer program/m,
      1,
    ],
    [
      "of a schema before the first",
      "pragma user_version = 7",
      /^fail {2}store +the service cannot start on it: store \S+ has schema 7, this program upgrades none before \d+: export/m,
      1,
    ],
    [
      "of another program",
      "pragma application_id = 1",
      /^fail {2}store +.*is a database of another program/m,
      1,
    ],
  ];
  for (const [what, sql, form, expected] of stores) {
    it(`says so of a store ${what}, and does not change it`, async (t) => {
      await using upstream = await startSimulator();
      const store = await storeWith(t, upstream, sql);
      const before = stateOf(dirname(store));
      const env = { RELAY_STORE: `sqlite:${store}` };
      const { code, out } = await checked(t, { upstream, args: ["serve", "--check"], env });
      assert.match(out, form);
      assert.equal(code, expected);
      assert.deepEqual(stateOf(dirname(store)), before);
    });
  }

  it("says so of a file that does not belong to the owner of its folder", { skip: !isRoot }, async (t) => {
    await using upstream = await startSimulator();
    const store = await storeWith(t, upstream, "select 1");
    chownSync(dirname(store), 61_234, 61_234);
    const env = { RELAY_STORE: `sqlite:${store}` };
    const { code, out } = await checked(t, { upstream, args: ["serve", "--check"], env });
    assert.equal(code, 0);
    assert.match(out, /^warn {2}store +its file does not belong to the owner of its folder: .*chown/m);
  });

  it("makes neither a file nor a folder", async (t) => {
    await using upstream = await startSimulator();
    const path = await temporaryFile(t);
    const env = { RELAY_STORE: `sqlite:${path}/not/there/relay.db` };
    const { code } = await checked(t, { upstream, args: ["serve", "--check"], env });
    assert.equal(code, 0);
    assert.deepEqual(readdirSync(dirname(path)), []);
  });

  it("fails for a proxy that cannot be used", async (t) => {
    await using upstream = await startSimulator();
    process.env.HTTPS_PROXY = "notaurl";
    t.after(() => delete process.env.HTTPS_PROXY);
    const env = { HTTPS_PROXY: "notaurl" };
    const { code, out } = await checked(t, { upstream, args: ["serve", "--check"], env });
    assert.equal(code, 1);
    assert.match(out, /^fail {2}settings +a proxy cannot be used: HTTPS_PROXY, HTTP_PROXY: must be a URL/m);
  });
});
