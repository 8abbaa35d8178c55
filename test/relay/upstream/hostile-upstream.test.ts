/**
 * An upstream that violates HTTP: whatever it does, to whichever request, takes bounded time and memory, is
 * reported as what it is, and leaves viewers where they are.
 */
import assert from "node:assert/strict";
import { pbkdf2 } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import type { RequestKind } from "../../../simulator/requests.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { assertFails } from "../../support/answered-room.ts";
import { assertRefused, post } from "../../support/api.ts";
import { assertSurvived, openedDespite, startFaulty } from "../../support/faulty-upstream.ts";
import { answerTo } from "../../support/hostile-call.ts";
import { REFUSED } from "../../support/malformed-http.ts";
import { peakGrowthMb } from "../../support/memory.ts";
import { failAlways, PLACES, refused } from "../../support/opening.ts";
import { startRelay } from "../../support/relay.ts";
import { requestsOf } from "../../support/virtual-room.ts";

const VIDEO = "any-video-1";
/** No answer here is to need it. */
const DEADLINE_MS = 30_000;
const DEADLINES = { chatMs: DEADLINE_MS, pageMs: DEADLINE_MS };
/** The words name the fault, and no value that is absent. */
const UNUSABLE = /^unusable: (?!.*(no complete answer|undefined))./;
const SAYS = /did not give a batch: (?!no complete answer)./;
/** Far below the gigabytes that they hold, far above what answers may have. */
const MOST_MB = 150;

/** The threads that decompress, and work that occupies one of them for a quarter of a second or so. */
const THREADS = 4;
const HASH_ROUNDS = 300_000;
const hashed = promisify(pbkdf2);

/** Those that HTTP takes for an answer, and one of each sort that it does not. */
const IN_A_ROOM = new Set([
  "more than the length",
  "gzip that breaks off",
  "no content, with some",
  "a gzip bomb packed once more",
  "chunks that break off",
  "an early go-ahead",
  "a reset",
]);

describe("an answer that is recognisably wrong", () => {
  for (const [name, hostile] of Object.entries(REFUSED)) {
    const isInRoom = IN_A_ROOM.has(name);
    it(isInRoom ? `${name}, in a room` : name, { timeout: DEADLINE_MS }, async () => {
      const grownMb = await peakGrowthMb(async () => {
        if (isInRoom) await assertSurvived(hostile, DEADLINE_MS, SAYS);
        else assert.match(await answerTo(hostile, DEADLINE_MS), UNUSABLE);
      });
      assert.ok(grownMb < MOST_MB, `${Math.round(grownMb)} MB more`);
    });
  }
});

it("a compressed answer is read no further while no thread can decompress it", async () => {
  const endless = REFUSED["a deflate stream without end"];
  assert.ok(endless);
  const work = () => hashed("words", "salt", HASH_ROUNDS, 64, "sha512");
  const occupy = async () => void (await Promise.all(Array.from({ length: THREADS }, work)));
  const grownMb = await peakGrowthMb(async () => {
    assert.match(await answerTo(endless, DEADLINE_MS, { meanwhile: occupy }), UNUSABLE);
  });
  assert.ok(grownMb < MOST_MB / 2, `${Math.round(grownMb)} MB more`);
});

describe("an answer that never ends is reported as the matching error", () => {
  const hostile = REFUSED["a gzip bomb packed once more"];
  assert.ok(hostile);
  const rows: [code: string, kinds: RequestKind[]][] = [
    ["502 SW_JS_FAILED", ["sw.js", "sw.js_data"]],
    ["404 NO_LIVE_CHAT", [...PLACES]],
    ["502 NO_WORKING_CLIENT", ["get_live_chat", "get_live_chat_replay"]],
  ];
  for (const [failure, kinds] of rows) {
    it(`at ${kinds.join(" and ")}: ${failure}`, async () => {
      await using faulty = await startFaulty(DEADLINES, { pageCredentials: false });
      for (const kind of kinds) faulty.order(kind, hostile, Number.POSITIVE_INFINITY);
      assert.equal((await refused(faulty.relay, faulty.chat.videoId)).failure, failure);
    });
  }

  it("in a room: an error frame, and a session is refused with the same code", async () => {
    await using faulty = await startFaulty(DEADLINES);
    const { relay, chat } = faulty;
    await using stream = await openedDespite(faulty, hostile, []);
    const order = faulty.order("get_live_chat", hostile, Number.POSITIVE_INFINITY);
    await assertFails(stream);
    assert.equal(order.fault.fired, 5);
    for (const kind of PLACES) faulty.order(kind, hostile);
    assertRefused(await post(relay.url, "/v1/sessions", { videoId: chat.videoId }), 502, "UPSTREAM_ERROR");
  });
});

it("a loop of slow redirects has one deadline in all", async () => {
  const relay = new VirtualRelay();
  relay.network.latency = { leastMs: 4000, jitterMs: 0 };
  failAlways(relay, PLACES, { redirect: "?again" });
  const { message } = await relay.refusal({ videoId: VIDEO });
  assert.match(message, /no complete answer within/);
  // The script is answered; the first page has 7 s, and those after its silence 1.2 s each.
  assert.equal(Math.round(relay.clock.monotonic()), 4000 + 7000 + 2 * 1200);
  assert.deepEqual(
    PLACES.map((kind) => requestsOf(relay, kind).length),
    [2, 1, 1],
  );
});

describe("the transport", () => {
  it("uses only HTTP/1.1, so that a connection that falls silent affects one call", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await using relay = await startRelay({ proxy: { url: `https://127.0.0.1:${port}` } });
    const refusal = refused(relay, VIDEO);
    const [socket] = (await once(server, "connection")) as [Socket];
    const [hello] = (await once(socket, "data")) as [Buffer];
    assert.ok(hello.includes("\0\x09\x08http/1.1", 0, "latin1"), "a list of this protocol alone");
    server.on("connection", (later) => later.destroy());
    socket.destroy();
    assert.equal((await refusal).failure, "502 SW_JS_FAILED");
    server.close();
  });
});
