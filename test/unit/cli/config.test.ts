/** The settings: where they come from, which values are refused, and in which words. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { toConfig } from "../../../src/cli/config.ts";
import {
  defaultOf,
  type Flag,
  flagOf,
  readFlags,
  UsageError,
  unknownVariables,
} from "../../../src/cli/flags.ts";
import { help } from "../../../src/cli/help.ts";
import { GONE, OF_EDGE, SETTING_GROUPS, SETTINGS } from "../../../src/cli/setting-table.ts";
import { outcome, ROOT } from "../../support/command.ts";

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
    assert.throws(() => read(["--store", ""], {}), /^UsageError: --store: must be /);
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

const SETTINGS_PAGE = `# Settings

Each setting is an environment variable. The flag of the same name overrides it: \`RELAY_GRACE_MS=5000\` is \`--grace-ms 5000\`. Times that end in \`_MS\` are milliseconds. An empty variable counts as not set.

If a value is invalid, the service prints one line that names the setting, and does not start. An unknown variable that begins with \`RELAY_\` is logged as a warning, with the setting of a similar name, if there is one. In a checkout, \`npm start -- --help\` prints this list.
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
