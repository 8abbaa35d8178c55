import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ConfigError, flagOf, readSettings, SETTINGS, toConfig } from "../src/cli/config.ts";
import { help } from "../src/cli/help.ts";

const config = (args: string[], env: NodeJS.ProcessEnv = {}) => toConfig(readSettings(args, env).texts);

describe("settings", () => {
  it("have their defaults", () => {
    const defaults = config([]);
    assert.equal(defaults.host, "127.0.0.1");
    assert.equal(defaults.port, 8080);
    assert.equal(defaults.storeUrl, "sqlite:./data/relay.db");
    assert.deepEqual(defaults.gate, { spacingMs: 250, concurrency: 4, cooldownMs: 30_000 });
    assert.equal(defaults.rooms.graceMs, 90_000);
    assert.equal(defaults.rooms.keepaliveMs, 15_000);
    assert.equal(defaults.rooms.pollMinMs, 500);
    assert.equal(defaults.rooms.pollMaxMs, 15_000);
    assert.equal(defaults.rooms.maxFailures, 5);
    assert.equal(defaults.retentionDays, 30);
  });

  it("come from the environment, and a flag of the same name wins", () => {
    assert.equal(config([], { RELAY_GRACE_MS: "1" }).rooms.graceMs, 1);
    assert.equal(config(["--grace-ms", "2"], { RELAY_GRACE_MS: "1" }).rooms.graceMs, 2);
    assert.equal(config(["--grace-ms=3"]).rooms.graceMs, 3);
  });

  const unusable: [string, string][] = [
    ["RELAY_PORT", "65536"],
    ["RELAY_PORT", "http"],
    ["RELAY_PORT", "-1"],
    ["RELAY_HOST", " "],
    ["RELAY_STORE", ""],
    ["RELAY_UPSTREAM_URL", "www.example.com"],
    ["RELAY_UPSTREAM_URL", "ftp://example.com"],
    ["RELAY_UPSTREAM_URL", "https://example.com/path"],
    ["RELAY_GATE_SPACING_MS", "1.5"],
    ["RELAY_GATE_CONCURRENCY", "0"],
    ["RELAY_COOLDOWN_MS", "0"],
    ["RELAY_POLL_MIN_MS", "99999999999"],
    ["RELAY_KEEPALIVE_MS", "0"],
    ["RELAY_MAX_FAILURES", "0"],
    ["RELAY_CHAT_VIEW", "best"],
    ["RELAY_TIMEZONE", "Mars/Olympus"],
    ["RELAY_RETENTION_DAYS", "-1"],
    ["RELAY_LOG_LEVEL", "loud"],
  ];
  for (const [name, text] of unusable) {
    it(`${name}="${text}" cannot be used, and the one line that says so names it`, () => {
      assert.throws(
        () => config([], { [name]: text }),
        (error: unknown) => {
          assert.ok(error instanceof ConfigError);
          assert.match(error.message, new RegExp(`^${name}: must be [^\\n]+$`));
          return true;
        },
      );
    });
  }

  it("must not contradict each other", () => {
    assert.throws(
      () => config(["--poll-min-ms", "20", "--poll-max-ms", "10"]),
      /RELAY_POLL_MIN_MS.*RELAY_POLL_MAX_MS/,
    );
  });

  it("refuse a flag that is none", () => {
    assert.throws(() => config(["--grace", "1"]), ConfigError);
    assert.throws(() => config(["stray"]), ConfigError);
  });

  it("take fractions of a day for the retention", () => {
    assert.equal(config(["--retention-days", "0.5"]).retentionDays, 0.5);
  });
});

describe("the table of settings", () => {
  it("is what --help lists", () => {
    for (const [name, { default: value }] of Object.entries(SETTINGS)) {
      assert.ok(help().includes(`${name}, --${flagOf(name)} (default ${value || "none"})`), name);
    }
  });

  it("is the README's, row by row", () => {
    const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
    const rows = readme.split("\n").filter((line) => line.startsWith("| RELAY_"));
    const expected = Object.entries(SETTINGS).map(([name, setting]) => {
      const shown = setting.default === "" ? "none" : `\`${setting.default}\``;
      return `| ${name} | ${shown} | ${setting.meaning} |`;
    });
    assert.deepEqual(rows, expected);
  });
});
