/** Rooms on several egresses, in virtual time: none stays on one that cannot read it while another works. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { realisticHold } from "../../../../simulator/index.ts";
import type { RequestKind } from "../../../../simulator/requests.ts";
import { VirtualRelay } from "../../../harness/virtual-relay.ts";

const ALL: readonly RequestKind[] = ["get_live_chat", "popout", "watch", "next", "sw.js"];
const FOR_EVER = Number.POSITIVE_INFINITY;

function twoEgresses() {
  const relay = new VirtualRelay({ seed: 1, settings: { RELAY_EGRESS: "a=direct,b=http://127.0.0.1:9" } });
  const { clock, upstream } = relay;
  const fails = async (
    from: string,
    as: { status: number; headers?: Record<string, string> },
    forMs: number,
  ) => {
    const fault = upstream.fault({ on: ALL, from, times: FOR_EVER, as });
    await clock.sleep(forMs);
    fault.cancel();
  };
  const room = (name: string) => {
    const videoId = name.padEnd(11, "-");
    const scenario = { ...realisticHold, kinds: ["text" as const], timeoutMs: 10_000 };
    upstream.chat(videoId, { ...scenario, tokens: "reusable" }).speak(0.2);
    return relay.visit({ videoId, address: name });
  };
  const read = async (egress: string) =>
    (await relay.list.all()).filter((listed) => listed.egress === egress).length;
  return { relay, fails, room, read };
}

const throttled = (seconds: number) => ({ status: 429, headers: { "retry-after": `${seconds}` } });

describe("two egresses", () => {
  it("an egress that all its rooms left in an outage is tried without rooms, and used again", async () => {
    const { relay, fails, room, read } = twoEgresses();
    const { clock } = relay;
    for (let i = 0; i < 8; i++) void room(`early-${i}`);
    void (async () => {
      await clock.sleep(60_000);
      await fails("a", { status: 503 }, 30_000);
      await fails("a", throttled(30), 30_000);
      await clock.sleep(120_000);
      for (let i = 0; i < 6; i++) void room(`late-${i}`);
    })();
    await relay.advance(300_000);
    assert.equal(relay.egresses.of("a")?.isUp, true);
    assert.ok((await read("a")) >= 3, `${await read("a")} rooms`);
  });

  it("a room that two egresses throttled continues by the other if one of them throttles for a day", async () => {
    const { relay, room } = twoEgresses();
    const { clock, answers, upstream, egresses } = relay;
    const pauseMs = (name: string) => egresses.of(name)?.gate.cooldownLeftMs(true) ?? Number.NaN;
    /** Throttles one call, and waits until the egress knows. */
    const throttle = async (from: string, seconds: number) => {
      upstream.fault({ on: ALL, from, times: 1, as: throttled(seconds) });
      while (pauseMs(from) === 0) await clock.sleep(10);
    };
    void room("moves");
    void (async () => {
      await clock.sleep(60_000);
      await throttle("a", 5);
      await throttle("b", 20);
      while (pauseMs("a") > 0) await clock.sleep(10);
      await throttle("a", 86_400);
    })();
    await relay.advance(600_000);
    assert.ok(pauseMs("a") > 80_000_000, `a pauses for ${pauseMs("a")} ms`);
    const last = answers.get("moves------")?.at(-1) ?? 0;
    assert.ok(last > 550_000, `last read after ${Math.round(last / 1000)} s`);
  });

  it("all rooms leave an egress at once when its errors turn into silence", async () => {
    const { relay, fails, room, read } = twoEgresses();
    const { clock, network } = relay;
    for (let i = 0; i < 10; i++) void room(`room-${i}`);
    void (async () => {
      await clock.sleep(60_000);
      void fails("a", { status: 503 }, 20_000);
      await clock.sleep(20_000);
      network.lost.add("a");
    })();
    await relay.advance(120_000);
    assert.equal(await read("a"), 0);
  });

  it("new rooms go to the egress with capacity, even if another has more places to bootstrap them", async () => {
    const { relay, room } = twoEgresses();
    const full = relay.egresses.of("b");
    for (let i = 0; i < 26; i++) full?.load.set(`other-${i}`, { intervalMs: 9000, windowMs: 10_000 });
    const opened = Array.from({ length: 6 }, (_, i) => room(`new-${i}`));
    const outcome = Promise.allSettled(opened);
    await relay.advance(30_000);
    const failed = (await outcome).filter(({ status }) => status === "rejected");
    assert.deepEqual(failed, []);
  });
});

it("the answer to a room shows that the upstream is reached, while the service's try gets none", async () => {
  const relay = new VirtualRelay({ seed: 1 });
  const { answers, egresses, upstream } = relay;
  const { videoId } = upstream.chat("is-answered", realisticHold);
  relay.visit({ videoId });
  await relay.advance(60_000);
  upstream.fault({ on: "sw.js", times: FOR_EVER, as: "silent" });
  egresses.cutOff();
  let isReachable = false;
  void egresses.reachable(new AbortController().signal).then(() => {
    isReachable = true;
  });
  const answered = () => answers.get(videoId)?.length ?? 0;
  const before = answered();
  await relay.advance(1);
  assert.deepEqual([answered() - before, isReachable], [0, false]);
  await relay.until(() => answered() > before);
  await relay.advance(1);
  assert.equal(isReachable, true);
});

it("an error answer to a room proves that the upstream is reached; a throttled trial does not", async () => {
  const relay = new VirtualRelay({ seed: 1 });
  const { egresses, upstream } = relay;
  const { videoId } = upstream.chat("is-answered", realisticHold);
  relay.visit({ videoId });
  await relay.advance(60_000);
  const on = ["get_live_chat", "popout", "watch", "next"] as const;
  const lost = upstream.fault({ on, times: FOR_EVER, as: "reset" });
  upstream.fault({ on: "sw.js", times: 1, as: { status: 429, headers: { "retry-after": "4" } } });
  upstream.fault({ on: "sw.js", times: FOR_EVER, as: "reset" });
  egresses.cutOff();
  let isReachable = false;
  void egresses.reachable(new AbortController().signal).then(() => {
    isReachable = true;
  });
  await relay.advance(60_000);
  assert.equal(isReachable, false);
  lost.cancel();
  upstream.fault({ on, times: FOR_EVER, as: { status: 503 } });
  await relay.advance(60_000);
  assert.equal(isReachable, true);
});

it("one failed poll makes no gap: it is repeated before the upstream drops messages", async () => {
  for (const seed of [1, 2, 3]) {
    const relay = new VirtualRelay({ seed });
    const { clock, upstream } = relay;
    const scenario = { ...realisticHold, kinds: ["text" as const], timeoutMs: 10_000 };
    const chat = upstream.chat("one-failure", { ...scenario, tokens: "reusable" });
    chat.speak(8);
    relay.visit({ videoId: chat.videoId });
    void (async () => {
      for (;;) {
        await clock.sleep(40_000);
        upstream.fault({ on: "get_live_chat", videoId: chat.videoId, times: 1, as: { status: 503 } });
      }
    })();
    await relay.advance(300_000);
    const rows = await relay.stored(chat.videoId);
    assert.equal(rows.filter(({ type }) => type === "gap").length, 0, `seed ${seed}`);
  }
});
