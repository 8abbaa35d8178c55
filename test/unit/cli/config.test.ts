/** The settings: where they come from, which values are refused, and in which words. */
import assert from "node:assert/strict";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { toConfig } from "../../../src/cli/config.ts";
import {
  defaultOf,
  type Flag,
  fileVariableOf,
  flagOf,
  readFlags,
  UsageError,
  unknownVariables,
  variablesIn,
} from "../../../src/cli/flags.ts";
import { help } from "../../../src/cli/help.ts";
import { ALL_SETTINGS, GONE, OF_EDGE, SETTING_GROUPS, SETTINGS } from "../../../src/cli/setting-table.ts";
import { ORIGIN_INTERVAL_MS } from "../../../src/origin/origin-rooms.ts";
import { longestIntervalMs } from "../../../src/reading/interval-rules.ts";
import { SHARED_DEFAULTS } from "../../../src/store/open.ts";
import { outcome, ROOT } from "../../support/command.ts";
import { temporaryFile } from "../../support/store-subject.ts";

const read = (args: string[], env: NodeJS.ProcessEnv = {}) => readFlags(SETTINGS, args, env);
const config = (args: string[], env: NodeJS.ProcessEnv = {}) => toConfig(read(args, env).values);

describe("settings", () => {
  it("have their defaults", () => {
    const defaults = config([]);
    assert.equal(defaults.host, "127.0.0.1");
    assert.equal(defaults.port, 8080);
    assert.equal(defaults.storeUrl, "sqlite:./data/relay.db");
    assert.deepEqual(defaults.upstream.gate, {
      spacingMs: 250,
      concurrency: 4,
      cooldownMs: 30_000,
      maxLatenessMs: 5000,
    });
    assert.equal(defaults.rooms.graceMs, 90_000);
    assert.equal(defaults.rooms.keepaliveMs, 15_000);
    assert.equal(defaults.rooms.pollMinMs, 500);
    assert.equal(defaults.rooms.pollMaxMs, 15_000);
    assert.equal(defaults.rooms.maxFailures, 5);
    assert.equal(defaults.rooms.failingMs, 120_000);
    assert.equal(defaults.rooms.noChatMs, 30_000);
    assert.deepEqual(defaults.http.access.public, ["watch", "rooms", "probe", "poll"]);
    assert.equal(defaults.retentionDays, 30);
    assert.deepEqual(defaults.shared, SHARED_DEFAULTS);
    assert.equal(longestIntervalMs(defaults.rooms), ORIGIN_INTERVAL_MS);
  });

  it("come from the environment, and a flag of the same name takes precedence", () => {
    assert.equal(config([], { RELAY_GRACE_MS: "1" }).rooms.graceMs, 1);
    assert.equal(config(["--grace-ms", "2"], { RELAY_GRACE_MS: "1" }).rooms.graceMs, 2);
    assert.equal(config(["--grace-ms=3"]).rooms.graceMs, 3);
  });

  it("count as unset if the variable is empty", () => {
    const { given, values } = read([], { RELAY_STORE: "", RELAY_TIMEZONE: "", RELAY_PORT: "1" });
    assert.equal(values.RELAY_STORE, SETTINGS.RELAY_STORE.default);
    assert.equal(values.RELAY_TIMEZONE, "UTC");
    assert.deepEqual([...given], ["RELAY_PORT"]);
    assert.throws(() => read(["--store", ""], {}), /^UsageError: --store needs a value/);
  });

  it("are suggested for a misspelt variable", () => {
    const nearest = {
      RELAY_GRACEMS: "RELAY_GRACE_MS",
      RELAY_GRACE: "RELAY_GRACE_MS",
      RELAY_PROT: "RELAY_PORT",
      RELAY_RETENTION: "RELAY_RETENTION_DAYS",
    };
    assert.deepEqual(
      unknownVariables(SETTINGS, { ...nearest, RELAY_PORT: "1", OTHER: "" }),
      Object.entries(nearest).map(
        ([name, near]) => `${name} is not a setting; did you mean ${near}? (see --help)`,
      ),
    );
    const far = ["RELAY_FOO", "RELAY_DATABASE"];
    assert.deepEqual(
      unknownVariables(SETTINGS, Object.fromEntries(far.map((name) => [name, "1"]))),
      far.map((name) => `${name} is not a setting (see --help)`),
    );
  });

  it("are suggested for no variable that is empty", () => {
    assert.deepEqual(unknownVariables(SETTINGS, { RELAY_FOO: "", RELAY_GRACEMS: "", RELAY_BAR: "0" }), [
      "RELAY_BAR is not a setting (see --help)",
    ]);
  });

  const unusable: [string, string][] = [
    ["RELAY_PORT", "65536"],
    ["RELAY_PORT", "http"],
    ["RELAY_PORT", "-1"],
    ["RELAY_HOST", " "],
    ["RELAY_STORE", "nonsense:"],
    ["RELAY_STORE", "foo.db"],
    ["RELAY_STORE", "sqlite:"],
    ["RELAY_STORE", "ftp://user:secret@host/?password=secret"],
    ["RELAY_STORE", "relay:secret@host/relay"],
    ["RELAY_STORE", "postgres:relay:secret@host/relay"],
    ["RELAY_STORE_LISTEN_URL", "relay:secret@host/relay"],
    ["RELAY_STORE_LISTEN_URL", "postgres://relay:secret@host:port/relay"],
    ["RELAY_FRAME_ANCESTORS", "example.org"],
    ["RELAY_CORS_ORIGINS", "example.org"],
    ["RELAY_CORS_ORIGINS", "https://example.org/path"],
    ["RELAY_CORS_ORIGINS", "https://*.example.org"],
    ["RELAY_CORS_HEADERS", "x y"],
    ["RELAY_CORS_HEADERS", "*"],
    ["RELAY_FRAME_ANCESTORS", "https://example.org/path"],
    ["RELAY_FRAME_ANCESTORS", "https://example.org; script-src *"],
    ["RELAY_UPSTREAM_URL", "www.example.com"],
    ["RELAY_UPSTREAM_URL", "ftp://example.com"],
    ["RELAY_UPSTREAM_URL", "https://example.com/path"],
    ["RELAY_GATE_SPACING_MS", "1.5"],
    ["RELAY_GATE_CONCURRENCY", "0"],
    ["RELAY_COOLDOWN_MS", "0"],
    ["RELAY_POLL_MIN_MS", "99999999999"],
    ["RELAY_KEEPALIVE_MS", "0"],
    ["RELAY_LEASE_MS", "1800001"],
    ["RELAY_MAX_FAILURES", "0"],
    ["RELAY_CHAT_VIEW", "best"],
    ["RELAY_TIMEZONE", "Mars/Olympus"],
    ["RELAY_RETENTION_DAYS", "-1"],
    ["RELAY_RETENTION_DAYS", "1e9"],
    ["RELAY_MAX_STORE_BYTES", "20"],
    ["RELAY_MAX_STORE_BYTES", "20GB"],
    ["RELAY_LOG_LEVEL", "loud"],
  ];
  for (const [name, text] of unusable) {
    it(`${name}="${text}" is refused in one line that names it`, () => {
      assert.throws(
        () => config([], { [name]: text }),
        (error: unknown) => {
          assert.ok(error instanceof UsageError);
          assert.doesNotMatch(error.message, /secret/);
          assert.match(error.message, new RegExp(`^${name}: must be [^\\n]+$`));
          return true;
        },
      );
    });
  }

  it("with a single value besides the default say that value", () => {
    assert.throws(() => config([], { RELAY_STORE_FAILOVER: "async" }), {
      name: "UsageError",
      message: 'RELAY_STORE_FAILOVER: must be synchronous, not "async"',
    });
  });

  it("are refused with the carriage return of a file with Windows line endings", () => {
    const why = /^RELAY_STORE: ends with a carriage return: save its file with Unix line endings$/;
    assert.throws(() => config([], { RELAY_STORE: "sqlite:relay.db\r" }), {
      name: "UsageError",
      message: why,
    });
  });

  it("name the one entry of RELAY_RECORD that is neither a video nor a channel", () => {
    const videos = "dQw4w9WgXcQ, https://youtu.be/dQw4w9WgXcQ,";
    const channels = "@Some.Body,youtube.com/c/Some/live, UCa-b_0123456789abcdefgh ,@some.body";
    const { recordings } = config([], { RELAY_RECORD: `${videos}${channels}` });
    const names = ["dQw4w9WgXcQ", "@some.body", "c/Some", "UCa-b_0123456789abcdefgh"];
    assert.deepEqual(recordings, names);
    const pasted = "<https://youtu.be/dQw4w9WgXcQ&t=5>,＠Some.Body\u200b,youtube.com/user/Some";
    const { recordings: found } = config([], { RELAY_RECORD: pasted });
    assert.deepEqual(found, ["dQw4w9WgXcQ", "@some.body", "user/Some"]);
    for (const [entry, shown] of [
      ["@foo bar", "@foo bar"],
      ["nonsense", "nonsense"],
      ["https://user:secret@youtube.com/@a", "https://…@youtube.com/@a"],
      ["https://youtube.com/playlist?list=PL1", "https://youtube.com/playlist?list=PL1"],
      ['a\n"b', 'a\\n\\"b'],
      ["x".repeat(5000), "x".repeat(100)],
      ["\u200b<@some\u200bbody>\u200e", "@someU+200Bbody"],
    ] as const) {
      assert.throws(() => config([], { RELAY_RECORD: `dQw4w9WgXcQ,${entry},@somebody` }), {
        name: "UsageError",
        message: `RELAY_RECORD: "${shown}" is neither the id or URL of a video nor the handle, id or URL of a channel`,
      });
    }
  });

  it("of earlier versions stop the start of a service, in one line that says what to do instead", async () => {
    for (const [name, instead] of Object.entries(GONE)) {
      assert.ok(!(name in { ...SETTINGS, ...OF_EDGE }), name);
      const flag = `--${flagOf(name)}`;
      for (const command of ["serve", "demo", "edge"]) {
        for (const [args, env, given] of [
          [[command], { [name]: "on" }, name],
          [[command, flag, "on"], {}, flag],
          [[command, `${flag}=on`], {}, flag],
        ] as const) {
          const { code, error } = await outcome(args, { env });
          assert.equal(error, `livechat-relay: ${given} is not a setting any more: ${instead}\n`);
          assert.equal(code, 2);
        }
      }
    }
  });

  it("must not contradict each other", () => {
    assert.throws(
      () => config(["--poll-min-ms", "20", "--poll-max-ms", "10"]),
      /RELAY_POLL_MIN_MS.*RELAY_POLL_MAX_MS/,
    );
  });

  it("refuse an unknown flag, a flag without a value and an extra argument", () => {
    assert.throws(
      () => read(["--prot", "1"]),
      /^UsageError: --prot is not a flag; did you mean --port\? \(see --help\)$/,
    );
    assert.throws(() => read(["-p", "1"]), /^UsageError: -p is not a flag \(see --help\)$/);
    assert.throws(() => read(["--port"]), /^UsageError: --port needs a value/);
    assert.throws(() => read(["--port", "--host"]), /^UsageError: --port needs a value/);
    assert.throws(() => read(["stray"]), /^UsageError: unexpected argument "stray"/);
    const store = "relay:secret@host/relay";
    assert.throws(() => read([store]), /^UsageError: unexpected argument "…@host\/relay"/);
  });

  it("accept fractions of a day for the retention, as precise as JavaScript writes them", () => {
    for (const days of [0.5, 1 / 86_400, 5 / 86_400, 0.01 / 86_400, 100 / 3])
      assert.equal(config([], { RELAY_RETENTION_DAYS: String(days) }).retentionDays, days);
  });
});

describe("a secret in a file", () => {
  const SECRET = "a-secret-of-16-characters";
  const secretFile = async (t: TestContext, text: string) => {
    const path = await temporaryFile(t);
    writeFileSync(path, text);
    return path;
  };
  const refusal = (env: NodeJS.ProcessEnv, args: string[] = []) => {
    try {
      read(args, env);
    } catch (error) {
      assert.ok(error instanceof UsageError);
      return error.message;
    }
    return assert.fail("it was accepted");
  };

  it("is its text without the line break at the end, for each setting that may hold one", async (t) => {
    const texts = {
      RELAY_STORE: "postgres://relay:secret@host/relay",
      RELAY_ADMIN_TOKEN: SECRET,
      RELAY_TOKEN_KEY: `${SECRET}${SECRET}`,
      RELAY_EGRESS: "http://me:secret@host:3128",
      RELAY_STORE_LISTEN_URL: "postgres://relay:secret@host/relay",
      RELAY_ORIGIN_TOKEN: SECRET,
    };
    const files = Object.entries<Flag<unknown>>(ALL_SETTINGS).map(([name, flag]) =>
      fileVariableOf(name, flag),
    );
    assert.deepEqual(
      files.filter((name) => name !== undefined),
      Object.keys(texts).map((name) => `${name}_FILE`),
    );
    for (const [name, text] of Object.entries(texts)) {
      const { values } = readFlags(ALL_SETTINGS, [], { [name]: text });
      for (const end of ["", "\n", "\r\n"]) {
        const env = { [`${name}_FILE`]: await secretFile(t, `${text}${end}`), [name]: "" };
        const fromFile = readFlags(ALL_SETTINGS, [], env);
        assert.deepEqual(fromFile.values, values);
        assert.doesNotMatch(JSON.stringify(fromFile.settings), /secret/);
        assert.deepEqual([...fromFile.given], [name]);
        assert.deepEqual(unknownVariables(ALL_SETTINGS, env), []);
        assert.deepEqual(variablesIn(ALL_SETTINGS, env), [`${name}_FILE`]);
      }
    }
  });

  it("gives way to the flag, and is refused beside the variable", async (t) => {
    const file = await secretFile(t, "memory:");
    assert.equal(config(["--store", "sqlite:x.db"], { RELAY_STORE_FILE: file }).storeUrl, "sqlite:x.db");
    assert.equal(
      refusal({ RELAY_STORE_FILE: file, RELAY_STORE: "memory:" }),
      "RELAY_STORE and RELAY_STORE_FILE are both set: remove one of them",
    );
  });

  it("that cannot be used is refused in one line, which names the file and not its text", async (t) => {
    const [empty, short] = [await secretFile(t, "\n"), await secretFile(t, "secret")];
    const missing = `${empty}-missing`;
    assert.equal(refusal({ RELAY_ADMIN_TOKEN_FILE: empty }), `RELAY_ADMIN_TOKEN_FILE: ${empty} is empty`);
    assert.equal(
      refusal({ RELAY_ADMIN_TOKEN_FILE: missing }),
      `RELAY_ADMIN_TOKEN_FILE: ${missing} cannot be read: there is no such file: check its name (ENOENT)`,
    );
    assert.match(
      refusal({ RELAY_TOKEN_KEY_FILE: ROOT }),
      /^RELAY_TOKEN_KEY_FILE: \S+ cannot be read: .*EISDIR/,
    );
    for (const name of ["RELAY_ADMIN_TOKEN_FILE", "RELAY_STORE_FILE"]) {
      assert.match(refusal({ [name]: short }), new RegExp(`^${name}: must be [^\\n]+$`));
      assert.doesNotMatch(refusal({ [name]: short }), /secret"/);
    }
  });

  it("is a warning for a setting without secrets", () => {
    assert.deepEqual(unknownVariables(SETTINGS, { RELAY_PORT_FILE: "x" }), [
      "RELAY_PORT_FILE is not a setting (see --help)",
    ]);
  });
});

describe("livechat-relay settings", () => {
  it("prints each setting as it applies, without secrets, and reports unknown variables", async (t) => {
    const file = await temporaryFile(t);
    writeFileSync(file, "a-secret-of-16-characters\n");
    const env = {
      RELAY_ADMIN_TOKEN_FILE: file,
      RELAY_STORE: "postgres://me:a-secret@host/relay?password=a-secret",
      RELAY_GRACEMS: "1",
    };
    const { code, out, error } = await outcome(["settings", "--port", "1"], { env });
    assert.equal(code, 0);
    assert.doesNotMatch(out + error, /a-secret/);
    const lines = out.split("\n").map((line) => line.replaceAll(/ {2,}/g, " | "));
    for (const line of [
      "SETTING | FROM | VALUE",
      "RELAY_HOST | default | 127.0.0.1",
      "RELAY_PORT | flag | 1",
      "RELAY_STORE | variable | postgres://…@host/relay?…",
      "RELAY_ADMIN_TOKEN | file | …",
      "RELAY_EGRESS | default | direct",
      "RELAY_ORIGIN | default | none",
    ])
      assert.ok(lines.includes(line), `${line} in ${out}`);
    assert.equal(
      error,
      "livechat-relay: RELAY_GRACEMS is not a setting; did you mean RELAY_GRACE_MS? (see --help)\n",
    );
  });
});

const FILES = Object.entries<Flag<unknown>>(ALL_SETTINGS)
  .filter(([name, flag]) => fileVariableOf(name, flag) !== undefined)
  .map(([name]) => `\`${name}\``)
  .join(", ");

const SETTINGS_PAGE = `# Settings

Each setting is an environment variable. The flag of the same name overrides it: \`RELAY_GRACE_MS=5000\` is \`--grace-ms 5000\`. Times that end in \`_MS\` are milliseconds. An empty variable counts as not set; an empty flag is refused.

If a value is invalid, the service prints one line that names the setting, and does not start. An unknown variable that begins with \`RELAY_\` is logged as a warning, with the setting of a similar name, if there is one. In a checkout, \`npm start -- --help\` prints this list, and \`livechat-relay settings\` shows what applies, and where it comes from.

A secret can be in a file: \`RELAY_ADMIN_TOKEN_FILE=/run/secrets/admin-token\` in place of \`RELAY_ADMIN_TOKEN\`. A line break at the end of the file does not count. If both variables are set, or if the file cannot be read, the service does not start. These settings have such a variable: ${FILES}. [deployment.md](deployment.md#secrets) shows this with systemd, Docker and Kubernetes.
`;

describe("the table of settings", () => {
  it("is what --help lists", () => {
    for (const [name, setting] of Object.entries<Flag<unknown>>(SETTINGS)) {
      assert.ok(help().includes(`${name}, --${flagOf(name)} (default ${defaultOf(setting)})`), name);
    }
  });

  it("has for tests and rehearsals only settings that no page sets", () => {
    const [title, settings] = SETTING_GROUPS.at(-1) ?? assert.fail("no group");
    assert.equal(title, "For tests and rehearsals");
    for (const page of globSync("{*.md,docs/*.md,deploy/*}", { cwd: ROOT })) {
      const text = readFileSync(join(ROOT, page), "utf8");
      const set = Object.keys(settings).filter(
        (name) => text.includes(`${name}=`) || text.includes(`--${flagOf(name)}`),
      );
      assert.deepEqual(set, [], page);
    }
  });

  /** `node --test --test-update-snapshots test/unit/cli/config.test.ts` writes the page. */
  it("is docs/settings.md, row by row", (t) => {
    const groups = SETTING_GROUPS.map(([title, settings]) => {
      const rows = Object.entries(settings).map(([name, setting]) => {
        const shown = setting.default === "" ? defaultOf(setting) : `\`${setting.default}\``;
        return `| \`${name}\` | ${shown} | ${setting.meaning} |\n`;
      });
      return `\n## ${title}\n\n| Variable | Default | Meaning |\n|---|---|---|\n${rows.join("")}`;
    });
    const page = join(ROOT, "docs/settings.md");
    t.assert.fileSnapshot(`${SETTINGS_PAGE}${groups.join("")}`, page, { serializers: [(text) => text] });
    assert.deepEqual(
      new Set(SETTING_GROUPS.flatMap(([, settings]) => Object.keys(settings))),
      new Set(Object.keys({ ...SETTINGS, ...OF_EDGE })),
    );
  });
});
