/**
 * `POST /v1/probe`: all attempts in order, each as the client it names, paced by the gate, and reported row
 * by row.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { Scenario } from "../../../simulator/scenario.ts";
import { readFlags, UsageError } from "../../../src/cli/flags.ts";
import { SETTINGS } from "../../../src/cli/setting-table.ts";
import type { ErrorBody } from "../../../src/protocol/errors.ts";
import { CLIENTS } from "../../../src/upstream/clients.ts";
import { ask, assertNothingKept, assertRefused, type ProbeBody, post } from "../../support/api.ts";
import { chatCalls, failAlways, PLACES, textAction } from "../../support/opening.ts";
import { metric, startRelay, type TestRelay, type TestRelayOptions } from "../../support/relay.ts";
import { temporaryFolder } from "../../support/store-subject.ts";

const VIDEO = "probe-video";
const EMBEDDED = { screen: "EMBED", embeds: true };

/** What the upstream must see of each label, in the order of the attempts. */
const EXPECTED = [
  { label: "MWEB", host: "main", name: "MWEB", id: "2" },
  { label: "WEB", host: "main", name: "WEB", id: "1" },
  { label: "ANDROID", host: "main", name: "ANDROID", id: "3" },
  { label: "IOS", host: "main", name: "IOS", id: "5" },
  { label: "TVHTML5", host: "main", name: "TVHTML5", id: "7" },
  {
    label: "TVHTML5_SIMPLY_EMBEDDED_PLAYER",
    host: "main",
    name: "TVHTML5_SIMPLY_EMBEDDED_PLAYER",
    id: "85",
    ...EMBEDDED,
  },
  { label: "WEB_EMBEDDED_PLAYER", host: "main", name: "WEB_EMBEDDED_PLAYER", id: "56", ...EMBEDDED },
  { label: "ANDROID_EMBEDDED_PLAYER", host: "main", name: "ANDROID_EMBEDDED_PLAYER", id: "55", ...EMBEDDED },
  { label: "WEB_REMIX (music)", host: "music", name: "WEB_REMIX", id: "67" },
  { label: "MWEB (music)", host: "music", name: "MWEB", id: "2" },
  { label: "MWEB (m.youtube)", host: "mobile", name: "MWEB", id: "2" },
  { label: "ANDROID_VR", host: "main", name: "ANDROID_VR", id: "28" },
] as const;

const ATTEMPTS = EXPECTED.flatMap((client) =>
  (["get_live_chat", "get_live_chat_replay"] as const).map((endpoint) => ({ ...client, endpoint })),
);

/** A relay with a chat that every attempt may read. */
async function withChat(
  scenario: Partial<Scenario> = {},
  options: TestRelayOptions = {},
): Promise<TestRelay> {
  const relay = await startRelay(options);
  relay.upstream.chat(VIDEO, { tokens: "reusable", works: [{}], page: 0, ...scenario });
  return relay;
}

async function rowsOf({ url }: TestRelay): Promise<ProbeBody["rows"]> {
  const answer = await post<ProbeBody>(url, "/v1/probe", { videoId: `https://youtu.be/${VIDEO}` });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.deepEqual(Object.keys(answer.body), ["videoId", "rows"]);
  assert.equal(answer.body.videoId, VIDEO);
  return answer.body.rows;
}

describe("the attempts", () => {
  it("are 24 in order, one per row, each made as the row's client", async () => {
    await using relay = await withChat();
    const rows = await rowsOf(relay);
    assert.deepEqual(
      rows,
      ATTEMPTS.map(({ label, endpoint }) => ({ label, endpoint, ok: true, actions: 0, error: null })),
    );
    const calls = chatCalls(relay);
    assert.equal(calls.length, 24);
    for (const [i, { host, name, id, endpoint, ...rest }] of ATTEMPTS.entries()) {
      const call = calls[i];
      assert.ok(call);
      const { context } = JSON.parse(call.body ?? "");
      const version = call.headers["x-youtube-client-version"];
      assert.deepEqual([call.host, call.kind, call.client], [host, endpoint, name]);
      assert.equal(call.headers["x-youtube-client-name"], id);
      assert.equal(call.clientVersion, version);
      assert.equal(call.headers.origin, relay.upstream.urls[host]);
      assert.equal(call.headers["user-agent"], context.client.userAgent);
      assert.equal(context.client.clientScreen, "screen" in rest ? rest.screen : undefined);
      assert.equal(typeof context.thirdParty?.embedUrl, "embeds" in rest ? "string" : "undefined");
      const own = relay.upstream.credentials.clientVersion;
      if (name === "WEB") assert.equal(version, own);
      else assert.notEqual(version, own, `${name} carries a pinned version`);
    }
  });

  it("all use the token of one page, and the key that the upstream gave", async () => {
    await using relay = await withChat();
    await rowsOf(relay);
    const { requests, credentials } = relay.upstream;
    assert.equal(requests.filter(({ kind }) => kind === "popout").length, 1);
    assert.equal(new Set(chatCalls(relay).map(({ continuation }) => continuation)).size, 1);
    for (const { path, headers } of chatCalls(relay)) {
      assert.equal(new URL(path, relay.url).searchParams.get("key"), credentials.apiKey);
      assert.equal(headers["x-goog-visitor-id"], credentials.visitorData);
    }
  });

  it("follow each other at the gate's spacing, never two at once", async () => {
    const spacingMs = 30;
    await using relay = await withChat({}, { settings: { RELAY_GATE_SPACING_MS: String(spacingMs) } });
    const since = performance.now();
    await rowsOf(relay);
    const calls = relay.upstream.requests;
    for (const [i, call] of calls.entries()) {
      // A busy machine only delays a call. A timer may be early by less than a millisecond.
      assert.ok(call.at - since >= i * (spacingMs - 1), `call ${i} after ${call.at - since} ms`);
      assert.ok((calls[i - 1]?.finishedAt ?? 0) <= call.at, `call ${i} starts before the last has ended`);
    }
  });

  it("open no room and store nothing", async () => {
    await using relay = await withChat();
    relay.upstream.chat(VIDEO, { tokens: "reusable", page: 5 }).say(5);
    await rowsOf(relay);
    await assertNothingKept(relay);
  });
});

describe("rows", () => {
  it("show which combinations work, and the upstream's words for those that do not", async () => {
    const works = [
      { client: "WEB", endpoint: "get_live_chat" },
      { client: "ANDROID_VR", endpoint: "get_live_chat_replay" },
      { client: "MWEB", host: "music" },
    ] as const;
    await using relay = await withChat({ works });
    const rows = await rowsOf(relay);
    assert.deepEqual(
      rows.filter(({ ok }) => ok).map(({ label, endpoint }) => `${label} ${endpoint}`),
      [
        "WEB get_live_chat",
        "MWEB (music) get_live_chat",
        "MWEB (music) get_live_chat_replay",
        "ANDROID_VR get_live_chat_replay",
      ],
    );
    for (const { ok, actions, error } of rows) {
      if (ok) assert.equal(error, null);
      else assert.deepEqual([actions, error], [0, "HTTP 400: Request contains an invalid argument."]);
    }
  });

  it("cut an error to a readable length, without markup", async () => {
    await using relay = await withChat();
    const message = `<b>Backend</b> <a href="https://example.com">said</a> ${"no ".repeat(500)}`;
    const body = { error: { code: 500, message, status: "INTERNAL" } };
    relay.upstream.fault({ on: "get_live_chat", times: 1, as: { status: 500, body } });
    const [first] = await rowsOf(relay);
    assert.match(first?.error ?? "", /^HTTP 500: Backend said no no/);
    assert.ok((first?.error?.length ?? 0) < 250);
  });

  it("are not ok for an answer without a chat, or without an answer", async () => {
    await using relay = await withChat();
    relay.upstream.fault({ on: "get_live_chat", times: 1, as: "no-contents" });
    relay.upstream.fault({ on: "get_live_chat_replay", times: 1, as: "reset" });
    const [silent, reset, next] = await rowsOf(relay);
    assert.deepEqual([silent?.ok, silent?.error], [false, "an answer without chat"]);
    assert.equal(reset?.ok, false);
    assert.match(reset?.error ?? "", /connection/);
    assert.equal(next?.ok, true);
  });

  it("count raw actions, known or not, in both of the upstream's schemas", async () => {
    await using relay = await withChat({ overlap: 10 });
    const model = { messageData: { attributedTextData: { contentText: { content: "hi" } } } };
    const element = {
      newElement: { type: { componentType: { model: { liveChatTextMessageModel: model } } } },
    };
    const phone = { addChatItemAction: { item: { elementRenderer: element } } };
    relay.upstream
      .chat(VIDEO, { tokens: "reusable", works: [{}], page: 0, overlap: 10 })
      .say([textAction("a"), phone, phone, { brandNewAction: { id: "b" } }]);
    for (const { ok, actions } of await rowsOf(relay)) assert.deepEqual([ok, actions], [true, 4]);
  });
});

describe("behind a wall, the answer says which", () => {
  for (const [on, status, code] of [
    [PLACES, 404, "NO_LIVE_CHAT"],
    [["sw.js", "sw.js_data", ...PLACES], 502, "SW_JS_FAILED"],
  ] as const) {
    it(`${on.join(", ")}: ${code}`, async () => {
      await using relay = await withChat();
      failAlways(relay, on, "consent");
      const answer = await post<ErrorBody>(relay.url, "/v1/probe", { videoId: VIDEO });
      assertRefused(answer, status, code);
      assert.match(answer.body.message, /YouTube asks for consent to cookies/);
    });
  }
});

describe("throttling", () => {
  const cooldownMs = 150;
  const settings = { RELAY_COOLDOWN_MS: String(cooldownMs) };

  it("that began before: the probe waits until the cooldown is over", async () => {
    await using relay = await withChat({}, { settings });
    relay.upstream.fault({ on: "sw.js", times: 1, as: { status: 429 } });
    assertRefused(await ask(relay.url, `/v1/stream?videoId=${VIDEO}`), 429, "RATE_LIMITED");
    assert.ok((await rowsOf(relay)).every(({ ok }) => ok));
    const [throttled, next] = relay.upstream.requests;
    assert.ok((next?.at ?? 0) - (throttled?.finishedAt ?? 0) >= cooldownMs - 2);
  });

  it("midway: the row shows it, and the probe continues after the cooldown", async () => {
    await using relay = await withChat({}, { settings });
    relay.upstream.fault({ on: "get_live_chat_replay", times: 1, as: "quota" });
    const rows = await rowsOf(relay);
    assert.match(rows[1]?.error ?? "", /throttling/);
    assert.deepEqual(
      rows.map(({ ok }) => ok),
      ATTEMPTS.map((_, i) => i !== 1),
    );
    const [, throttled, next] = chatCalls(relay);
    assert.ok((next?.at ?? 0) - (throttled?.finishedAt ?? 0) >= cooldownMs - 2);
  });

  it("midway for longer than a minute: 429 RATE_LIMITED at once, with the time to wait", async () => {
    await using relay = await withChat();
    const as = { status: 429, headers: { "retry-after": "75" } };
    relay.upstream.fault({ on: "get_live_chat_replay", times: 1, as });
    const answer = await post(relay.url, "/v1/probe", { videoId: VIDEO });
    assertRefused(answer, 429, "RATE_LIMITED", relay.upstream);
    assert.match(answer.headers.get("retry-after") ?? "", /^7[45]$/);
    assert.equal(chatCalls(relay).length, 2);
  });
});

it("a caller that disconnects ends its probe, which does not count as a failure", async () => {
  await using relay = await withChat({}, { settings: { RELAY_GATE_SPACING_MS: "100" } });
  relay.upstream.chat("another-one").say(1);
  const caller = new AbortController();
  const probing = post(relay.url, "/v1/probe", { videoId: VIDEO }, caller.signal);
  await relay.upstream.requested("get_live_chat", { videoId: VIDEO, count: 2, since: 0 });
  caller.abort();
  await assert.rejects(probing, { name: "AbortError" });
  const made = chatCalls(relay).length;
  // Another probe takes all of its turns meanwhile: this one would have had as many. It may have had one
  // before its caller's end was noticed.
  assert.equal((await post(relay.url, "/v1/probe", { videoId: "another-one" })).status, 200);
  const callsFor = (asked: string) => chatCalls(relay).filter(({ videoId }) => videoId === asked).length;
  assert.equal(callsFor("another-one"), ATTEMPTS.length);
  assert.ok(callsFor(VIDEO) <= made + 1);
  assert.equal(await metric(relay, 'relay_request_errors_total{code="INTERNAL"}'), 0);
});

describe("RELAY_CLIENTS_FILE", () => {
  async function fileOf(t: TestContext, content: string): Promise<string> {
    const path = join(await temporaryFolder(t), "clients.json");
    await writeFile(path, content);
    return path;
  }

  it("replaces the named fields of a client, and keeps the others", async (t) => {
    const replaced = { ANDROID: { version: "22.01.1", userAgent: "agent/22" }, WEB: { version: "2.5" } };
    const settings = { RELAY_CLIENTS_FILE: await fileOf(t, JSON.stringify(replaced)) };
    await using relay = await withChat({}, { settings });
    await rowsOf(relay);
    const seen = new Map(chatCalls(relay).map((call) => [call.client, call]));
    assert.equal(seen.get("ANDROID")?.clientVersion, "22.01.1");
    assert.equal(seen.get("ANDROID")?.headers["user-agent"], "agent/22");
    assert.equal(seen.get("WEB")?.clientVersion, "2.5");
    assert.equal(seen.get("WEB")?.headers["user-agent"], CLIENTS.WEB.userAgent);
    assert.equal(seen.get("IOS")?.clientVersion, CLIENTS.IOS.pinnedVersion);
  });

  const wrong: [string, string][] = [
    ["nothing", ""],
    ["no JSON", "\n\noops\n\n"],
    ["an array", "[]"],
    ["a label that is none", '{"BETAMAX":{"version":"1"}}'],
    ["a fact that cannot be replaced", '{"WEB":{"host":"music"}}'],
    ["a version that is none", '{"WEB":{"version":"latest"}}'],
    ["a user agent with a line break", '{"WEB":{"userAgent":"a\\r\\nb"}}'],
  ];
  for (const [name, content] of wrong) {
    it(`that contains ${name} is refused in one line`, async (t) => {
      const path = await fileOf(t, content);
      assert.throws(
        () => readFlags(SETTINGS, ["--clients-file", path], {}),
        (error) => error instanceof UsageError && /^--clients-file: must be .+$/.test(error.message),
      );
    });
  }
});
