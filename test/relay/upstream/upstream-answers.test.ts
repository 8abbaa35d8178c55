/**
 * What every kind of answer to a chat call means, in one table: to a room that polls, seen by its viewer and
 * at the upstream, and to a bootstrap that tries which client works.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Failure } from "../../../simulator/index.ts";
import type { JsonObject } from "../../../simulator/plain-json.ts";
import type { RequestKind } from "../../../simulator/requests.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import type { VirtualViewer } from "../../harness/virtual-viewer.ts";
import { asked, textAction, tried } from "../../support/opening.ts";
import { refused, requestsOf, VIDEO } from "../../support/virtual-room.ts";

/** Much longer than from one poll to the next, and too short for a fresh look at the page behind it. */
const COOLDOWN_MS = 2000;
/** This many failed polls in a row stop the room. */
const MAX_FAILURES = 3;
const SETTINGS = {
  RELAY_GATE_SPACING_MS: "10",
  RELAY_POLL_MIN_MS: "100",
  RELAY_COOLDOWN_MS: `${COOLDOWN_MS}`,
  RELAY_MAX_FAILURES: `${MAX_FAILURES}`,
  RELAY_FAILING_MS: "0",
};
/** A relay that polls no more once a room is open: all its calls are then those of a bootstrap. */
const AT_REST = { RELAY_POLL_MIN_MS: "60000", RELAY_POLL_MAX_MS: "60000" };

/** An answer that holds a next token, or one of which the token does not matter. */
type Ordered = Failure | ((token: string) => Failure);

type Room = Awaited<ReturnType<typeof roomWith>>;

const SAID = "said in it";

interface Row {
  answer: string;
  inRoom: keyof typeof IN_ROOM;
  asAttempt: keyof typeof AS_ATTEMPT;
  variants: [what: string, as: Ordered][];
}

const text = (body: string, status = 200): Failure => ({ status, body });
const object = (body: JsonObject, status = 200): Failure => ({ status, body });
const error = (error: JsonObject, status = 200): Failure => object({ error }, status);
const contents = (continuations: unknown, actions: unknown = [textAction(SAID)]): JsonObject => ({
  continuationContents: { liveChatContinuation: { continuations, actions } },
});
const batch = (continuations: unknown, actions?: unknown): Failure =>
  object({ responseContext: {}, ...contents(continuations, actions) });
const timed = (continuation: string, timeoutMs: unknown = 5) => ({
  timedContinuationData: { continuation, timeoutMs },
});
const seek = { playerSeekContinuationData: { continuation: "seeks" } };
const reload = { reloadContinuationData: { continuation: "reloads" } };
const goesOn = (kind: string): Row["variants"][number] => [
  kind,
  (continuation) => batch([{ [kind]: { continuation, timeoutMs: 5 } }]),
];
const exhausted = { code: 403, status: "RESOURCE_EXHAUSTED" };
const captcha = '<html><form id="captcha-form"><div class="g-recaptcha"></div></form></html>';
const LOUD = "quota, rate limit, too many requests, RESOURCE_EXHAUSTED, g-recaptcha, unusual traffic";

const TABLE: Row[] = [
  {
    answer: "200, continuationContents, a next continuation",
    inRoom: "a batch",
    asAttempt: "works",
    variants: [
      goesOn("invalidationContinuationData"),
      goesOn("timedContinuationData"),
      goesOn("liveChatReplayContinuationData"),
      goesOn("brandNewContinuationData"),
      ["a reload, with actions", (token) => batch([{ reloadContinuationData: { continuation: token } }])],
      ["no wait named", (token) => batch([timed(token, undefined)])],
      ["a wait of words", (token) => batch([timed(token, "soon")])],
      ["a wait below nothing", (token) => batch([timed(token, -1)])],
      ["after one for seeking and invalid ones", (token) => batch([null, 7, {}, seek, timed(token)])],
      ["no actions", (token) => batch([timed(token)], [])],
      ["actions that are not a list", (token) => batch([timed(token)], "none")],
      ["a message that speaks of quotas", (token) => batch([timed(token)], [textAction(LOUD)])],
      ["an error that is null", (token) => object({ error: null, ...contents([timed(token)]) })],
      ["wrapped, as in old answers", (token) => object({ response: contents([timed(token)]) })],
      ["white space around it", (token) => text(`\n ${JSON.stringify(contents([timed(token)]))}\n`)],
    ],
  },
  {
    answer: "200, continuationContents, no next continuation",
    inRoom: "its messages, then the end",
    asAttempt: "works",
    variants: [
      ["absent", batch(undefined)],
      ["absent, without actions", batch(undefined, [])],
      ["empty", batch([])],
      ["null", batch(null)],
      ["only one for seeking", batch([seek])],
      ["only one for seeking, without actions", batch([seek], [])],
      ["only a reload, without actions", batch([reload], [])],
      ["a token that is missing", batch([{ timedContinuationData: { timeoutMs: 5 } }])],
      ["a token that is empty", batch([timed("")])],
    ],
  },
  {
    answer: "200, responseContext, no continuationContents, no error",
    inRoom: "a re-bootstrap",
    asAttempt: "fails",
    variants: [
      ["nothing else", "no-contents"],
      ["null for contents", object({ responseContext: {}, continuationContents: null })],
      ["a notice", object({ responseContext: {}, contents: { messageRenderer: { text: {} } } })],
    ],
  },
  {
    answer: "a quota signal, whatever the status",
    inRoom: "a cooldown",
    asAttempt: "is throttled",
    variants: [
      ["HTTP 429", { status: 429 }],
      ["HTTP 429 with a page", text("<html></html>", 429)],
      ["HTTP 429 with nothing", text("", 429)],
      ["code 429 in HTTP 200", "quota"],
      ["code 429 as text", error({ code: "429" })],
      ...[200, 400, 403, 503].map((status): Row["variants"][number] => [
        `RESOURCE_EXHAUSTED in HTTP ${status}`,
        error(exhausted, status),
      ]),
      ["quotaExceeded", error({ code: 403, errors: [{ reason: "quotaExceeded" }] }, 403)],
      ["rateLimitExceeded", error({ code: 403, errors: [{ reason: "rateLimitExceeded" }] }, 403)],
      ["rate-limit words", error({ message: "Rate limit exceeded. Try again later." }, 400)],
      ["an old error object", object({ responseContext: { errors: { error: [{ domain: "yt:quota" }] } } })],
      ["beside contents", object({ error: { code: 429 }, ...contents([]) })],
      ["a captcha page", "captcha"],
      ["a captcha page in HTTP 503", text(captcha, 503)],
      ["a redirect to a captcha", { redirect: "https://www.google.com/sorry/index?continue=a" }],
    ],
  },
  {
    answer: "another error object in 200, or 400 INVALID_ARGUMENT",
    inRoom: "a re-bootstrap",
    asAttempt: "fails",
    variants: [
      ["INVALID_ARGUMENT in HTTP 400", { status: 400 }],
      ["INVALID_ARGUMENT in HTTP 200", "invalid-argument"],
      ["INTERNAL in HTTP 200", error({ code: 500, status: "INTERNAL" })],
      ["an empty one", error({})],
      ["an old one", "response-errors"],
      ["beside contents", (token) => object({ error: { code: 400 }, ...contents([timed(token)]) })],
    ],
  },
  {
    answer: "HTTP 401, 403, 404, another 400",
    inRoom: "a re-bootstrap with fresh credentials",
    asAttempt: "fails",
    variants: [
      ["HTTP 403", { status: 403 }],
      ["HTTP 404", { status: 404 }],
      ["HTTP 403 with a page", text("<html></html>", 403)],
      ["HTTP 404 with nothing", text("", 404)],
      ["HTTP 401", { status: 401 }],
      ["FAILED_PRECONDITION in HTTP 400", error({ code: 400, status: "FAILED_PRECONDITION" }, 400)],
      ["HTTP 400 with a page", text("<html></html>", 400)],
    ],
  },
  {
    answer: "5xx, network, HTML, truncated, null, [], {}",
    inRoom: "a failed poll",
    asAttempt: "fails",
    variants: [
      ["HTTP 500", { status: 500 }],
      ["HTTP 503", { status: 503 }],
      ["HTTP 502 with a page", text("<html></html>", 502)],
      ["a reset", "reset"],
      ["an answer lost on its way", "lost"],
      ["half of it", "truncated"],
      ["half of its JSON", text('{"responseContext":{},"continuationContents":{"liveChat')],
      ["a page", "html"],
      ["nothing", "empty"],
      ["null", "null"],
      ["a list", "array"],
      ["an empty object", "object"],
      ["a text", text('"text"')],
      ["an object of something else", object({ contents: {}, trackingParams: "CAAQ" })],
      ["one that nests without end", text(`{"continuationContents":${"[".repeat(1e5)}${"]".repeat(1e5)}}`)],
      ["a redirect", { redirect: "https://consent.youtube.com/m" }],
    ],
  },
];

const saidIn = (failure: Failure): string[] =>
  [SAID, LOUD].filter((id) => JSON.stringify(failure).includes(id));

/** A room whose viewer has been sent the one message "before", and whose next poll is answered as ordered. */
async function roomWith(ordered: Ordered) {
  const relay = new VirtualRelay({ settings: SETTINGS });
  const chat = relay.upstream.chat(VIDEO, { tokens: "reusable", timeoutMs: 100, page: 1 });
  chat.say([textAction("before")]);
  const token = chat.page("popout").chat?.token ?? "";
  const failure = typeof ordered === "function" ? ordered(token) : ordered;
  // The first answer proves its client.
  relay.upstream.fault({ on: "get_live_chat", times: 1, as: { delayMs: 0 } });
  const fault = relay.upstream.fault({ on: "get_live_chat", times: 1, as: failure });
  const viewer = await relay.enter({ videoId: VIDEO });
  await viewer.untilMessages(1);
  return { relay, chat, token, failure, fault, viewer };
}

/** Waits for the call after the one that was answered as ordered; gives both. */
async function around({ relay }: Room) {
  const [, call, next] = await relay.requested("get_live_chat", { count: 3, since: 0 });
  assert.ok(call && next);
  return { call, next };
}

/** Says one more message, and asserts that the stream continues to it after exactly these. */
async function assertGoesOn({ chat, viewer }: Room, ids: readonly string[] = []): Promise<void> {
  chat.say([textAction("after")]);
  await viewer.until(() => viewer.ids.includes("after"));
  assert.deepEqual(viewer.ids, ["before", ...ids, "after"]);
  assert.deepEqual([...new Set(viewer.frames.map(({ event }) => event))], ["init", "message"]);
}

/** Asserts that the stream ends as that of a chat that is over. */
async function assertEnds(viewer: VirtualViewer): Promise<void> {
  assert.deepEqual(await viewer.ended(), { event: "end", data: { reason: "no more continuations" } });
}

/** How often the room was bootstrapped. */
const bootstraps = (relay: VirtualRelay) => requestsOf(relay, "popout").length;

async function assertReopens(room: Room, pages: readonly RequestKind[]): Promise<void> {
  const { call, next } = await around(room);
  assert.notEqual(next.continuation, call.continuation);
  await assertGoesOn(room);
  const expected = ["get_live_chat", ...pages, "get_live_chat"];
  assert.deepEqual(asked(room.relay).slice(3, 3 + expected.length), expected);
  assert.equal(bootstraps(room.relay), 2);
}

const IN_ROOM = {
  async "a batch"(room: Room) {
    const { next } = await around(room);
    assert.equal(next.continuation, room.token);
    await assertGoesOn(room, saidIn(room.failure));
    assert.equal(bootstraps(room.relay), 1);
  },

  async "its messages, then the end"({ relay, viewer, failure }: Room) {
    await assertEnds(viewer);
    assert.deepEqual(viewer.ids, ["before", ...saidIn(failure)]);
    assert.deepEqual(asked(relay), ["sw.js", "popout", "get_live_chat", "get_live_chat"]);
  },

  "a re-bootstrap": (room: Room) => assertReopens(room, ["popout"]),
  "a re-bootstrap with fresh credentials": (room: Room) => assertReopens(room, ["sw.js", "popout"]),

  async "a cooldown"(room: Room) {
    const { call, next } = await around(room);
    assert.equal(next.continuation, call.continuation);
    assert.ok(next.at - call.at >= COOLDOWN_MS, `asked again after ${next.at - call.at} ms`);
    await assertGoesOn(room);
    assert.equal(bootstraps(room.relay), 1);
  },

  async "a failed poll"(room: Room) {
    const { relay, viewer, failure } = room;
    const { call, next } = await around(room);
    assert.equal(next.continuation, call.continuation);
    relay.upstream.fault({ on: "get_live_chat", times: MAX_FAILURES - 1, as: failure });
    await relay.requested("get_live_chat", { count: MAX_FAILURES });
    await assertGoesOn(room);
    const last = relay.upstream.fault({ on: "get_live_chat", times: Number.POSITIVE_INFINITY, as: failure });
    const end = await viewer.ended();
    assert.equal(end?.event, "error");
    assert.match(JSON.stringify(end.data), /^{"code":"UPSTREAM_ERROR","message":"[^"]+"}$/);
    assert.equal(last.fired, MAX_FAILURES);
    assert.equal(bootstraps(relay), 1);
  },
};

const AS_ATTEMPT = {
  async works(relay: VirtualRelay, { inRoom }: Row, failure: Failure) {
    const viewer = await relay.enter({ videoId: VIDEO });
    await viewer.until(() => saidIn(failure).every((id) => viewer.ids.includes(id)));
    if (inRoom === "its messages, then the end") await assertEnds(viewer);
    assert.deepEqual(tried(relay), ["WEB get_live_chat"]);
  },

  async fails(relay: VirtualRelay) {
    await relay.enter({ videoId: VIDEO });
    assert.deepEqual(tried(relay), [
      "WEB get_live_chat",
      "WEB get_live_chat_replay",
      "TVHTML5 get_live_chat",
    ]);
  },

  async "is throttled"(relay: VirtualRelay) {
    assert.equal((await refused(relay, VIDEO)).failure, "429 RATE_LIMITED");
    assert.deepEqual(tried(relay), ["WEB get_live_chat"]);
  },
};

for (const row of TABLE) {
  describe(`${row.answer}: in a room ${row.inRoom}; as a bootstrap attempt it ${row.asAttempt}`, () => {
    for (const [what, as] of row.variants) {
      it(`${what}, in a room`, async () => {
        const room = await roomWith(as);
        await IN_ROOM[row.inRoom](room);
        assert.equal(room.fault.fired, 1);
      });

      it(`${what}, as a bootstrap attempt`, async () => {
        const relay = new VirtualRelay({ settings: { ...SETTINGS, ...AT_REST } });
        const chat = relay.upstream.chat(VIDEO, { tokens: "reusable" });
        const failure = typeof as === "function" ? as(chat.page("popout").chat?.token ?? "") : as;
        const fault = relay.upstream.fault({ on: "get_live_chat", times: 1, as: failure });
        await AS_ATTEMPT[row.asAttempt](relay, row, failure);
        assert.equal(fault.fired, 1);
      });
    }
  });
}
