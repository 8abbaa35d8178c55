/**
 * The conformance suite of the Durable Streams protocol against the log of this service. Everything about
 * reading must pass; what the service does not offer is listed here by name.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { ROOT } from "../support/command.ts";
import { missingBut } from "../support/needs.ts";
import { startRelay } from "../support/relay.ts";
import { inRuntimes } from "../support/runtimes.ts";
import { StreamsStage } from "../support/streams-stage.ts";

const VITEST = inRuntimes("vitest/vitest.mjs");
/** How long one test of the suite may take on a busy machine. */
const LIMIT_MS = 180_000;

/**
 * The suite's tests of writing, producers, expiry, forks and subscriptions, by group: the tests, or the
 * number of them if it is all of the group.
 */
const NOT_OFFERED: Record<string, readonly string[] | number> = {
  "Basic Stream Operations": [
    "should allow idempotent create with same config",
    "should reject create with different config (409)",
    "should delete a stream",
    "should properly isolate recreated stream after delete",
  ],
  "Append Operations": ["should enforce sequence ordering with seq"],
  "HTTP Protocol": [
    "should return 200 on idempotent PUT with same config",
    "should return 409 on PUT with different config",
    "should return 409 on content-type mismatch",
    "should return 404 on DELETE non-existent stream",
    "should return 204 on successful DELETE",
    "should enforce sequence ordering",
    'should enforce lexicographic seq ordering ("2" then "10" rejects)',
    'should allow lexicographic seq ordering ("09" then "10" succeeds)',
    "should reject duplicate seq values",
  ],
  "Browser Security Headers": [
    "should include X-Content-Type-Options: nosniff on PUT responses",
    "should include X-Content-Type-Options: nosniff on POST responses",
  ],
  "TTL and Expiry Validation": 5,
  "TTL and Expiry Edge Cases": 9,
  "TTL Expiration Behavior": 14,
  "HEAD Metadata Edge Cases": 2,
  "Case-Insensitivity": 3,
  "Content-Type Validation": ["should enforce content-type match on append"],
  "Protocol Edge Cases": [
    "should reject empty POST body with 400",
    "should enforce case-sensitive seq ordering",
    "should return Location header on 201",
    "should reject missing Content-Type on POST",
    "should accept PUT without Content-Type (use default)",
    // Refused with 400, as everywhere in this service: a misspelt parameter is a mistake of its caller.
    "should ignore unknown query parameters",
  ],
  "JSON Mode": ["should reject POST with empty array body", "should reject empty JSON arrays with 400"],
  "Property-Based Tests (fast-check) Sequence Ordering Properties": 2,
  "Idempotent Producer Operations": 29,
  "Stream Closure Create with Stream-Closed": 3,
  "Stream Closure Close Operations": 7,
  "Stream Closure Idempotent Producers with Stream Closure": 6,
  "Stream Closure Edge Cases": [
    "409-includes-stream-offset: 409 for closed stream includes Stream-Next-Offset header",
    "producer-state-survives-close: Stale-epoch producer gets 403, not 409 STREAM_CLOSED",
    "close-with-different-body-dedup: Retry close with different body deduplicates to original",
    "empty-post-without-stream-closed-400: POST with empty body but no Stream-Closed returns 400",
    "delete-closed-stream: Deleting a closed stream removes it (returns 404 after)",
  ],
  "Fork - Creation": 34,
  "Fork - Reading": 6,
  "Fork - Appending": 5,
  "Fork - Recursive": 5,
  "Fork - Live Modes": 4,
  "Fork - Deletion and Lifecycle": 13,
  "Fork - TTL and Expiry": 9,
  "Fork - JSON Mode": 2,
  "Fork - Edge Cases": 4,
  "Reserved subscription APIs": 6,
};

/** By group, the patterns of its tests' names. */
const PATTERNS = Object.entries(NOT_OFFERED).map(([group, tests]) => ({
  group,
  count: typeof tests === "number" ? tests : tests.length,
  pattern: escaped(`${group} `) + (typeof tests === "number" ? "" : oneOf(tests)),
}));
const LISTED = PATTERNS.map(({ pattern }) => pattern).join("|");

function oneOf(texts: readonly string[]): string {
  return `(?:${texts.map(escaped).join("|")})$`;
}

function escaped(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&");
}

interface Result {
  fullName: string;
  status: "passed" | "failed" | "skipped";
  failureMessages: string[];
}

/** Plays the suite's tests whose names match, and reports all of them. */
async function results(url: string, names: string, report: string): Promise<Result[]> {
  const options = ["--testNamePattern", names, "--testTimeout", `${LIMIT_MS}`, "--reporter", "json"];
  const args = [VITEST, "run", "--root", join(ROOT, "test/runtimes"), ...options, "--outputFile", report];
  const env = { ...process.env, CONFORMANCE_URL: url };
  // Its exit code says what the report says.
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile(process.execPath, args, { env }, (_error, out, error) => resolve(out + error));
  const output = await promise;
  assert.ok(existsSync(report), output);
  const { testResults } = JSON.parse(await readFile(report, "utf8"));
  return testResults.flatMap(({ assertionResults }: { assertionResults: Result[] }) => assertionResults);
}

describe("the conformance suite", {
  skip: !existsSync(VITEST) && missingBut("the conformance suite", "npm run runtimes"),
}, () => {
  let all: Result[];
  before(async () => {
    const settings = {
      RELAY_LONG_POLL_MS: "1000",
      RELAY_GRACE_MS: "1",
      RELAY_MAX_ROOMS: "1000",
      RELAY_MAX_VIEWERS_PER_ADDRESS: "0",
    };
    await using relay = await startRelay({ settings });
    await using stage = await StreamsStage.start(relay);
    await using folder = await mkdtempDisposable(join(tmpdir(), "conformance-"));
    all = await results(stage.url, `^(?!\\s*(?:${LISTED}))`, join(folder.path, "report.json"));
  });

  it("passes with the log, except for the features that are not offered", () => {
    const played = all.filter(({ fullName }) => !new RegExp(`^\\s*(?:${LISTED})`).test(fullName));
    assert.ok(played.length > 100, `${played.length} tests`);
    const failed = played.filter(({ status }) => status !== "passed");
    assert.deepEqual(
      failed.map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages}`),
      [],
    );
  });

  it("has every test that is listed as not offered", () => {
    for (const { group, count, pattern } of PATTERNS) {
      const found = all.filter(({ fullName }) => new RegExp(`^\\s*${pattern}`).test(fullName));
      assert.equal(found.length, count, group);
    }
  });
});
