/**
 * A few instances on a shared store, in virtual time: rooms go to the one that can read them, and has less to
 * do, and what one remembers gives way to what the other has read.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { recordChat } from "../../../src/rooms/recordings/record-chat.ts";
import type { RecordingReport } from "../../../src/store/recording-list.ts";
import { visit } from "../../harness/sink.ts";
import { configOf, VirtualRelay } from "../../harness/virtual-relay.ts";
import type { Instance } from "../../simulation/instance.ts";
import { World } from "../../simulation/world.ts";
import { recorderOf, runUntil } from "../../support/recorder-parts.ts";

/** A seed whose instances remember for 30 s that a video has no chat. */
const REMEMBERS = 12;

/** A seed whose instances, if there are three, all hear the notices of the store. */
const ALL_HEAR = 6;

/** `live`: the number of live rooms; beside them, the world has a replay and a recorded chat. */
function instancesOf(count: number, seed = 1, live = 1) {
  const world = new World({ seed, rooms: live + 2, instances: count });
  const [first, second] = world.instances;
  assert.ok(first && second && world.cluster);
  const { store } = world.cluster;
  void world.start();
  world.calm();
  const now = () => world.scheduler.monotonic();
  /** Whether the instance has a good lease of the room. */
  const reads = ({ line }: Instance, videoId: string) => {
    const { owner = null, leaseUntil = 0 } = store.at(videoId) ?? {};
    return leaseUntil > now() && owner === line?.instance;
  };
  /** Lets time pass while `goesOn`; `observe` sees all that happens. */
  const pass = async (goesOn: () => boolean, observe = () => {}) => {
    await world.scheduler.run(
      () => goesOn() && !world.journal.violation,
      async () => {
        await world.judge();
        observe();
      },
    );
    assert.equal(world.journal.violation, undefined);
  };
  return {
    world,
    first,
    second,
    now,
    /** Somebody comes to a room by that instance, and stays. */
    watch: (instance: Instance, videoId: string, lastEventId?: number) => {
      const request = { ...visit(videoId, videoId).request, lastEventId };
      const entered = instance.life?.rooms.enter(request, new AbortController().signal);
      void entered?.catch((error) => world.journal.violate("run", videoId, String(error)));
    },
    reads,
    until: (atMs: number, observe?: () => void) => pass(() => now() < atMs, observe),
    /** Lets time pass until the instance reads all these rooms. */
    opened: async (instance: Instance, videoIds: readonly string[]) => {
      const { rooms } = instance.life ?? assert.fail();
      const isOpen = () => videoIds.every((videoId) => rooms.entryOf(videoId)?.roomState === "polling");
      await pass(() => now() < 60_000 && !isOpen());
      assert.ok(isOpen() && videoIds.every((videoId) => reads(instance, videoId)));
    },
  };
}

const twoInstances = (seed?: number, live?: number) => instancesOf(2, seed, live);

/** At 20 s, both instances have a viewer of a room, and the first one reads it. `address`: one of its own. */
async function roomOfFirst(seed?: number) {
  const instances = twoInstances(seed);
  const { world, first, second, watch, reads, until } = instances;
  const [{ videoId } = assert.fail()] = world.liveRooms;
  const [address = assert.fail()] = first.addresses;
  await until(1000);
  watch(first, videoId);
  await until(10_000);
  watch(second, videoId);
  await until(20_000);
  assert.ok(reads(first, videoId));
  return { ...instances, videoId, address };
}

test("an owner that is cut off hands its room to one with viewers, and takes none while cut off", async () => {
  const { world, first, second, reads, until, videoId } = await roomOfFirst();
  for (const address of first.addresses) world.network.lost.add(address);
  await until(45_000);
  assert.ok(reads(second, videoId));
  void second.kill(600_000);
  await until(120_000, () => assert.ok(!reads(first, videoId)));
  world.network.lost.clear();
  await until(150_000);
  assert.ok(reads(first, videoId));
  await world.upstream.close();
});

test("an owner that has lost the upstream leaves a room, too, that waits for its chat and asks seldom", async () => {
  const { world, first, second, now, watch, reads, until } = twoInstances(10, 2);
  const [one, other] = world.liveRooms;
  const { videoId: polled } = one ?? assert.fail();
  const { videoId: waiting, chat } = other ?? assert.fail();
  await until(1000);
  for (const videoId of [polled, waiting]) watch(first, videoId);
  await until(10_000);
  for (const videoId of [polled, waiting]) watch(second, videoId);
  await until(20_000);
  chat.change({ kind: "off" });
  const state = () => first.life?.rooms.entryOf(waiting)?.roomState;
  while (state() !== "waiting") await until(now() + 1000);
  for (const address of first.addresses) world.network.lost.add(address);
  await until(now() + 22_000);
  assert.ok(reads(second, polled));
  assert.ok(reads(second, waiting));
  await world.upstream.close();
});

/**
 * Both instances have a viewer of a room that waits for its chat, the only one of the first instance, which
 * calls for nothing else in the next 25 s.
 */
async function waitingRoomOfFirst() {
  const instances = await roomOfFirst(10); // one address each
  const { world, first, until, videoId } = instances;
  world.liveRooms.find((room) => room.videoId === videoId)?.chat.change({ kind: "off" });
  await until(33_000); // it has just tried to record a chat
  assert.equal(first.life?.rooms.entryOf(videoId)?.roomState, "waiting");
  return instances;
}

for (const how of ["lost", "refused"] as const)
  test(`an owner that only waits for a chat leaves it in time, too, once its calls are ${how}`, async () => {
    const { world, first, second, now, reads, until, videoId } = await waitingRoomOfFirst();
    for (const address of first.addresses) world.network[how].add(address);
    await until(now() + 22_000); // before the next look
    assert.ok(reads(second, videoId));
    await world.upstream.close();
  });

test("an owner that only waits for a chat seldom tries the upstream; a lost call does not count", async () => {
  const { world, first, now, reads, until, videoId, address } = await waitingRoomOfFirst();
  const { requests } = world.upstream;
  const tries = () => requests.filter(({ path }) => path === "/sw.js").length;
  const before = tries();
  world.upstream.fault({ on: "sw.js", from: address, times: 1, as: "reset" });
  await until(now() + 25_000);
  assert.ok(reads(first, videoId));
  assert.ok(tries() > before && tries() - before <= 4, `${tries() - before}`);
  assert.ok(!world.journal.lines.some((line) => line.includes("no egress reaches")));
  await world.upstream.close();
});

test("an instance that follows a room says that it waits for its chat while its owner does", async () => {
  const { world, second, until, videoId } = await roomOfFirst(10);
  const { chat } = world.liveRooms.find((room) => room.videoId === videoId) ?? assert.fail();
  const state = () => second.life?.rooms.entryOf(videoId)?.roomState;
  chat.change({ kind: "off" });
  await until(40_000);
  assert.equal(state(), "waiting");
  chat.change({ kind: "live" });
  await until(80_000);
  assert.equal(state(), "polling");
  await world.upstream.close();
});

test("an owner that has lost the upstream keeps a room that nobody watches elsewhere", async () => {
  const { world, first, second, watch, reads, until } = twoInstances(10, 2); // one address each
  const [wanted = "", kept = ""] = world.liveRooms.map(({ videoId }) => videoId);
  const state = () => first.life?.rooms.entryOf(kept)?.roomState;
  await until(1000);
  for (const videoId of [wanted, kept]) watch(first, videoId);
  await until(10_000);
  watch(second, wanted);
  await until(20_000);
  for (const address of first.addresses) world.network.lost.add(address);
  await until(400_000);
  assert.ok(reads(second, wanted));
  assert.equal(state(), "polling");
  world.network.lost.clear();
  await until(430_000);
  assert.equal(state(), "polling");
  await world.upstream.close();
});

test("an instance that reads rooms every nine seconds takes no short break for a lost upstream", async () => {
  const { world, first, second, now, reads, watch, until } = twoInstances(10); // one address each
  const videoId = "slow-room-1";
  world.upstream.chat(videoId, { kinds: ["text"], timeoutMs: 10_000 });
  await until(1000);
  watch(first, videoId);
  await until(10_000);
  watch(second, videoId);
  await until(20_000);
  for (let breaks = 0; breaks < 8; breaks++) {
    const broken =
      breaks % 2 === 0 ? ({ times: 3, as: "reset" } as const) : ({ times: 1, as: "silent" } as const);
    world.upstream.fault({ on: "get_live_chat", videoId, ...broken });
    await until(now() + 40_000);
    assert.ok(reads(first, videoId));
  }
  const lost = world.journal.lines.filter((line) => line.includes("no egress reaches"));
  assert.deepEqual(lost, []);
  await world.upstream.close();
});

test("an instance takes rooms again after an outage even while its page loads are throttled for long", async () => {
  const { world, first, second, reads, until, videoId, address } = await roomOfFirst(10); // one address each
  const as = { status: 429, headers: { "retry-after": "3600" } };
  for (const on of ["popout", "watch", "next"] as const)
    world.upstream.fault({ on, from: address, times: 1, as });
  const { request } = visit("other", "other");
  void first.life?.rooms.enter(request, new AbortController().signal).catch(() => {}); // is refused
  await until(26_000);
  world.network.lost.add(address);
  await until(60_000);
  assert.ok(reads(second, videoId));
  world.network.lost.clear();
  await until(100_000);
  void second.kill(600_000);
  await until(140_000);
  assert.ok(reads(first, videoId));
  await world.upstream.close();
});

test("an instance that cannot reach the upstream takes no room from an instance that reads too many", async () => {
  const { world, first, second, watch, reads, until } = twoInstances(10, 7);
  const [own = "", ...others] = world.liveRooms.map(({ videoId }) => videoId);
  await until(1000);
  watch(first, own);
  await until(10_000);
  for (const videoId of [...others, own]) watch(second, videoId);
  await until(20_000);
  for (const videoId of others) watch(first, videoId);
  await until(30_000);
  assert.ok(reads(first, own) && others.every((videoId) => reads(second, videoId)));
  for (const address of first.addresses) world.network.lost.add(address);
  await until(55_000);
  assert.ok(reads(second, own));
  await until(120_000, () => assert.ok(![own, ...others].some((videoId) => reads(first, videoId))));
  await world.upstream.close();
});

test("rooms moved between addresses of an owner leave it in time if none reaches the upstream", async () => {
  const { world, first, second, watch, reads, until } = twoInstances(3, 14);
  const videoIds = world.liveRooms.map(({ videoId }) => videoId);
  const [one = "", ...rest] = first.addresses;
  assert.equal(rest.length, 1);
  const as = { status: 429, headers: { "retry-after": "40" } };
  world.upstream.fault({ on: ["popout", "get_live_chat", "sw.js"], from: one, times: 3, as });
  await until(1000);
  for (const videoId of videoIds) watch(first, videoId);
  await until(60_000); // the other address reads all of them
  for (const address of first.addresses) world.network.lost.add(address);
  await until(74_000);
  assert.ok(videoIds.every((videoId) => reads(first, videoId)));
  for (const videoId of videoIds) watch(second, videoId);
  await until(79_000);
  const left = videoIds.filter((videoId) => reads(first, videoId));
  assert.deepEqual(left, []);
  await world.upstream.close();
});

test("an instance knows from a video without a chat that it reaches the upstream again", async () => {
  const { world, first, second, reads, until, videoId, address } = await roomOfFirst(10); // one address each
  for (const address of first.addresses) world.network.lost.add(address);
  await until(45_000);
  assert.ok(reads(second, videoId));
  // Its own tries show nothing.
  world.upstream.fault({ on: "sw.js", from: address, times: 100, as: "reset" });
  world.network.lost.clear();
  const { request } = visit("none-------", "other");
  void first.life?.rooms.enter(request, new AbortController().signal).catch(() => {}); // is refused
  await until(70_000);
  assert.ok(world.journal.lines.some((line) => /log 1 .*YouTube is reached again/.test(line)));
  await world.upstream.close();
});

test("instances of which none reaches the upstream say so, until one does", async () => {
  const { world, first, second, watch, reads, until } = twoInstances(10);
  const [{ videoId } = assert.fail()] = world.liveRooms;
  const both = [first, second];
  const up = async () => {
    const texts = await Promise.all(both.map(({ life }) => life?.telemetry.registry.metrics()));
    return texts.map((text = "") => /^relay_egress_up\{.*\} (\d)$/m.exec(text)?.[1]);
  };
  await until(1000);
  for (const instance of both) watch(instance, videoId);
  await until(20_000);
  for (const address of both.flatMap(({ addresses }) => addresses)) world.network.lost.add(address);
  await until(90_000);
  const whileLost = up();
  await until(91_000); // the store's gauges take time
  assert.deepEqual(await whileLost, ["0", "0"]);
  assert.ok(!both.some((instance) => reads(instance, videoId)));
  world.network.lost.clear();
  await until(120_000);
  const after = up();
  await until(121_000);
  assert.deepEqual(await after, ["1", "1"]);
  assert.ok(both.some((instance) => reads(instance, videoId)));
  await world.upstream.close();
});

test("an instance that cannot reach the upstream leaves new rooms to another instance with viewers", async () => {
  // One address, which opens slowly.
  const { world, first, second, watch, reads, until } = twoInstances(10, 18);
  const videoIds = world.liveRooms.map(({ videoId }) => videoId);
  const last = videoIds.at(-1) ?? "";
  await until(1000);
  for (const address of first.addresses) world.network.lost.add(address);
  for (const videoId of videoIds) void world.visit(videoId, videoId, 600_000, first);
  await until(5000);
  watch(second, last);
  await until(25_000);
  assert.ok(reads(second, last));
  await world.upstream.close();
});

test("an instance also leaves a room whose page was answered just before it lost the upstream", async () => {
  const { world, first, second, now, watch, reads, until, opened } = twoInstances(10, 14); // one address each
  const videoIds = world.liveRooms.map(({ videoId }) => videoId);
  const [ofSecond, ofFirst] = [videoIds.slice(0, 5), videoIds.slice(5)];
  await until(1000);
  for (const videoId of ofFirst) watch(first, videoId);
  for (const videoId of ofSecond) watch(second, videoId);
  await opened(first, ofFirst);
  await opened(second, ofSecond);
  const { lines } = world.journal;
  const from = lines.length;
  for (const { chat } of world.liveRooms) chat.expireTokens();
  let reopened: string | undefined;
  const loseOnceReopened = () => {
    const isOpenedByPage = (videoId: string) =>
      lines
        .slice(from)
        .some((line) => line.includes(`${videoId}","why":`) && line.includes("re-bootstrapped"));
    reopened ??= ofFirst.find(isOpenedByPage);
    if (reopened === undefined || world.network.lost.size > 0) return;
    for (const address of first.addresses) world.network.lost.add(address);
    watch(second, reopened);
  };
  await until(now() + 5000, loseOnceReopened);
  assert.ok(reopened && reads(first, reopened));
  await until(now() + 12_000); // ten seconds, and the take-over
  assert.ok(reads(second, reopened));
  await world.upstream.close();
});

for (const [what, as] of [
  ["break off", "truncated"],
  ["are walls", "bot"],
] as const)
  test(`an owner leaves a room in time, too, whose pages ${what} until it loses the upstream`, async () => {
    const { world, first, second, now, reads, until, videoId, address } = await roomOfFirst(10);
    world.upstream.fault({ on: ["popout", "watch"], videoId, times: 2, as });
    world.liveRooms.find((room) => room.videoId === videoId)?.chat.expireTokens();
    const { lines } = world.journal;
    let lostAt = Number.POSITIVE_INFINITY;
    const loseBehindPages = () => {
      const isLoaded = lines.some(
        (line) => / (answer|failed) \S+ \/watch/.test(line) && line.includes(videoId),
      );
      if (!isLoaded || world.network.lost.size > 0) return;
      world.network.lost.add(address);
      lostAt = now();
    };
    await until(40_000, loseBehindPages);
    assert.ok(lostAt < 35_000 && reads(first, videoId));
    await until(lostAt + 20_000); // a page's time limit, and the take-over
    assert.ok(reads(second, videoId));
    await world.upstream.close();
  });

test("time without a proved lease does not count as silence of the upstream", async () => {
  const { world, first, second, reads, until, videoId } = await roomOfFirst(10); // one address each
  for (const address of first.addresses) world.network.lost.add(address);
  await until(26_000);
  first.line?.cut(22_000);
  second.line?.cut(60_000);
  await until(40_000);
  world.network.lost.clear();
  await until(60_000);
  assert.ok(reads(first, videoId));
  assert.deepEqual(
    world.journal.lines.filter((line) => line.includes("no egress reaches")),
    [],
  );
  await world.upstream.close();
});

test("rooms are handed on, at most one a second, till none reads above twice the minimum plus 4", async () => {
  const { world, first, second, now, watch, reads, until, opened } = twoInstances(1, 12);
  const videoIds = world.liveRooms.map(({ videoId }) => videoId);
  const readBy = (instance: Instance) => videoIds.filter((videoId) => reads(instance, videoId));
  await until(1000);
  for (const videoId of videoIds) watch(first, videoId);
  await opened(first, videoIds);
  const openedAt = now();
  const left: number[] = [];
  let before = videoIds;
  for (const videoId of videoIds) watch(second, videoId);
  await until(openedAt + 30_000, () => {
    const held = readBy(first);
    for (const _ of before.filter((videoId) => !held.includes(videoId))) left.push(now());
    before = held;
  });
  const [most, least] = [readBy(first).length, readBy(second).length];
  assert.equal(most + least, videoIds.length);
  assert.ok(most <= 2 * least + 4 && most + 1 > 2 * (least - 1) + 4, `${most} and ${least}`);
  const apartMs = left.slice(1).map((at, i) => at - (left[i] ?? at));
  assert.ok(Math.min(...apartMs) > 900, apartMs.join());
  await world.upstream.close();
});

test("an instance keeps a room that it has taken over for ten seconds, however many it reads", async () => {
  const { world, first, second, now, watch, reads, until, opened } = twoInstances(1, 12);
  const videoIds = world.liveRooms.map(({ videoId }) => videoId);
  await until(1000);
  for (const videoId of videoIds) watch(second, videoId);
  await opened(second, videoIds);
  const openedAt = now();
  for (const videoId of videoIds) watch(first, videoId);
  void second.kill(20_000);
  const held = new Map<string, number>();
  const keptMs: number[] = [];
  const observe = () => {
    for (const videoId of videoIds) {
      const since = held.get(videoId);
      if (!reads(first, videoId)) {
        if (since !== undefined) keptMs.push(now() - since);
        held.delete(videoId);
      } else if (since === undefined) held.set(videoId, now());
    }
  };
  await until(openedAt + 20_000, observe);
  for (const videoId of videoIds) watch(second, videoId);
  await until(openedAt + 45_000, observe);
  assert.ok(keptMs.length > 0);
  assert.ok(Math.min(...keptMs) >= 10_000, keptMs.join());
  await world.upstream.close();
});

/**
 * An instance stops, whose rooms both others follow; `loads` are the numbers of rooms that the three read.
 * How many of those rooms each of the others then reads.
 */
async function takenFromStopped(...loads: readonly [number, number, number]) {
  const live = loads.reduce((sum, load) => sum + load);
  const { world, first, second, watch, reads, until, opened } = instancesOf(3, ALL_HEAR, live);
  const third = world.instances[2] ?? assert.fail();
  const left = world.liveRooms.map(({ videoId }) => videoId);
  const [ofFirst = [], ofSecond = [], ofThird = []] = loads.map((load) => left.splice(0, load));
  const all = [[first, ofFirst] as const, [second, ofSecond] as const, [third, ofThird] as const];
  await until(1000);
  for (const [instance, own] of all) for (const videoId of own) watch(instance, videoId);
  for (const [instance, own] of all) await opened(instance, own);
  for (const follower of [second, third]) for (const videoId of ofFirst) watch(follower, videoId);
  await until(20_000);
  assert.ok(ofFirst.every((videoId) => reads(first, videoId)));
  void first.restart(600_000);
  await until(22_000);
  await world.upstream.close();
  return [second, third].map((follower) => ofFirst.filter((videoId) => reads(follower, videoId)).length);
}

test("rooms of an instance that stops go to a follower that reads nothing, not to a busy one", async () => {
  assert.deepEqual(await takenFromStopped(4, 0, 14), [4, 0]);
});

test("the rooms of an instance that stops are shared by followers of which one reads hardly more", async () => {
  const [one = 0, other = 0] = await takenFromStopped(8, 2, 4);
  assert.ok(one > 0 && other > 0 && one + other === 8, `${one} and ${other}`);
});

test("rooms are not handed on again and again to a lost instance, even if it reported viewers", async () => {
  const { world, first, second, now, watch, reads, until, opened } = twoInstances(1, 12);
  const videoIds = world.liveRooms.map(({ videoId }) => videoId);
  await until(1000);
  for (const videoId of videoIds) watch(first, videoId);
  await opened(first, videoIds);
  const openedAt = now();
  await until(openedAt + 10_000); // rooms are kept for that long
  for (const videoId of videoIds) watch(second, videoId);
  await until(openedAt + 12_000);
  const left = () => world.journal.counts.get("rooms left to others") ?? 0;
  void second.kill(600_000);
  const before = left();
  assert.ok(before > 0);
  await until(openedAt + 40_000);
  assert.ok(left() - before <= 5, `${left() - before} times`);
  assert.ok(videoIds.every((videoId) => reads(first, videoId)));
  await world.upstream.close();
});

test("an owner gives up a room that another one has taken over and released, even as it waits", async () => {
  const { world, first, second, watch, reads, until } = twoInstances(10); // one address each
  const [{ videoId } = assert.fail()] = world.liveRooms;
  const [address = assert.fail()] = first.addresses;
  const state = () => first.life?.rooms.entryOf(videoId)?.roomState;
  await until(1000);
  watch(first, videoId);
  await until(20_000);
  assert.ok(reads(first, videoId));
  const as = { status: 429, headers: { "retry-after": "3600" } };
  world.upstream.fault({ on: "get_live_chat", from: address, times: 1, as });
  await until(40_000);
  first.line?.cut(151_000); // its follower sees the release before the next renewal
  await until(60_000);
  assert.ok(reads(second, videoId));
  await until(185_000);
  assert.ok(world.cluster?.store.at(videoId)?.finalAt);
  assert.equal(state(), "polling");
  await until(195_000);
  assert.equal(state(), undefined);
  await world.upstream.close();
});

test("an owner whose room was taken over follows it soon, even while its own next call waits", async () => {
  const { world, first, second, watch, reads, until } = twoInstances(10); // one address each
  const [{ videoId } = assert.fail()] = world.liveRooms;
  const [address = assert.fail()] = first.addresses;
  const entry = () => first.life?.rooms.entryOf(videoId);
  await until(1000);
  watch(first, videoId);
  await until(20_000);
  const as = { status: 429, headers: { "retry-after": "3600" } };
  world.upstream.fault({ on: "get_live_chat", from: address, times: 1, as });
  await until(40_000);
  first.line?.cut(20_000);
  await until(59_000);
  assert.ok(reads(second, videoId));
  assert.ok(entry()?.owned);
  await until(64_000);
  assert.deepEqual([entry()?.owned, entry()?.roomState, entry()?.viewerCount], [undefined, "polling", 1]);
  await world.upstream.close();
});

test("an instance that opens a video again owns its replay before its first call", async () => {
  const { world, first, second, watch, reads, until } = twoInstances(10); // one address each
  const [{ videoId, chat } = assert.fail()] = world.rooms; // the replay
  const [from = ""] = first.addresses;
  chat.say(4000);
  await until(1000);
  watch(first, videoId);
  await until(10_000);
  watch(second, videoId);
  await until(20_000);
  for (const address of [...first.addresses, ...second.addresses]) world.network.lost.add(address);
  await until(50_000); // it is handed on, and the second one cannot take it
  void first.restart(0);
  await until(130_000); // longer than the grace time
  world.network.lost.clear();
  world.upstream.fault({ on: "get_live_chat", from, times: 1, as: "silent" });
  void world.visit(videoId, "other", 600_000, first);
  await until(150_000);
  assert.ok(world.journal.lines.some((line) => line.includes("log 2") && line.includes("reached again")));
  assert.ok(reads(first, videoId));
  await world.upstream.close();
});

test("an owner that cannot prove its lease while it completes a late answer keeps the answer", async () => {
  const { world, first, watch, until } = twoInstances(10);
  const [{ videoId, chat } = assert.fail()] = world.liveRooms;
  await until(1000);
  watch(first, videoId);
  await until(20_000);
  world.upstream.fault({ on: "get_live_chat", videoId, times: 1, as: "silent" });
  const sinceFailed = () => {
    const { lines } = world.journal;
    const failed = lines.findLastIndex((line) => line.includes(`failed ${videoId} `));
    return failed < 0 ? undefined : lines.slice(failed);
  };
  let said: readonly string[] = [];
  await until(60_000, () => {
    const { clock } = first.life ?? assert.fail();
    const lines = sinceFailed();
    if (!lines || clock.sleptMs > 0) return;
    if (said.length === 0) said = chat.say(5);
    if (!lines.some((line) => line.includes(`answer ${videoId} `))) return;
    // Its lease is proved by the uptime, which includes the time that the computer sleeps.
    clock.sleptMs = 10_000;
    first.line?.cut(2000);
    chat.say(500); // from now on, no answer shows the others
  });
  assert.equal(first.life?.clock.sleptMs, 10_000);
  const { byId } = world.cluster?.store.at(videoId) ?? assert.fail();
  assert.deepEqual(
    said.filter((id) => !byId.has(id)),
    [],
  );
  await world.upstream.close();
});

for (const [whose, back] of [
  ["a cursor", 1],
  ["cursor 0", Number.POSITIVE_INFINITY],
] as const)
  test(`a viewer with ${whose} gets the messages that another instance read, unknown to this one`, async () => {
    const { world, first, second, watch, reads, until } = twoInstances(REMEMBERS);
    const videoId = "seen-late-1";
    const chat = world.upstream.chat(videoId, { kind: "disabled", kinds: ["text"] });
    const refusals: unknown[] = [];
    const come = () => {
      const { request } = visit(videoId, "newcomer");
      const entered = first.life?.rooms.enter(request, new AbortController().signal);
      entered?.catch((error) => refusals.push(error.name));
    };
    await until(1000);
    come();
    await until(5000);
    chat.change({ kind: "live" });
    chat.say(3);
    watch(second, videoId);
    await until(10_000);
    come();
    await until(10_100);
    assert.deepEqual(refusals, ["ChatAbsent", "ChatAbsent"]);
    const { head } = world.cluster?.store.at(videoId) ?? assert.fail();
    watch(first, videoId, Math.max(0, head - back));
    await until(12_000);
    assert.ok(reads(second, videoId));
    assert.equal(first.life?.rooms.roomOf(videoId)?.viewerCount, 1);
    await world.upstream.close();
  });

test("a room without viewers here is handed on after the poll in hand is stored", async () => {
  const relay = new VirtualRelay({ hasDisk: true });
  const chat = relay.upstream.chat("no-viewers1", { kinds: ["text"], timeoutMs: 2000 });
  chat.say(1);
  const viewer = await relay.enter({ videoId: "no-viewers1" });
  await relay.advance(10_000);
  viewer.leave();
  await relay.advance(5000); // it lingers
  const { requests } = relay.upstream;
  const polls = requests.length;
  relay.upstream.fault({ on: "get_live_chat", times: 1, as: { delayMs: 500 } });
  chat.say(1);
  while (requests.length === polls) await relay.advance(10);
  await relay.when(relay.rooms.entryOf("no-viewers1")?.handOn(2000, 2000) ?? assert.fail());
  const said = chat.ledger.map(({ id }) => id);
  assert.deepEqual(
    (await relay.stored("no-viewers1")).map(({ id }) => id),
    said,
  );
});

test("a recording says why its chat is waited for, whichever instance waits", async () => {
  const { world, first, second, videoId, until, now } = await roomOfFirst();
  const reports: Partial<RecordingReport>[] = [];
  const { life } = second;
  assert.ok(life);
  const run = { ...runUntil(new AbortController().signal), report: (news: object) => reports.push(news) };
  void recordChat(videoId, recorderOf({ ...life, config: configOf(world.upstream, {}) }), run);
  await until(now() + 10_000);
  assert.deepEqual(reports.at(-1), { state: "recording", videoId });
  world.liveRooms.find((room) => room.videoId === videoId)?.chat.change({ kind: "off" });
  await until(now() + 20_000);
  assert.equal(first.life?.rooms.openHere(videoId)?.state, "waiting");
  assert.equal(reports.at(-1)?.state, "waiting");
  assert.match(reports.at(-1)?.error ?? "", /\bdisabled\b/);
});

test("an opening that has lost its lease leaves the replay to the new owner of the video", async () => {
  const { world, first, second, until, now } = twoInstances();
  const { videoId } = world.rooms.find(({ key }) => key.endsWith(".replay")) ?? assert.fail();
  const enter = (instance: Instance) =>
    void instance.life?.rooms
      .enter(visit(videoId, videoId).request, new AbortController().signal)
      .catch(() => {});
  world.network.latency = { leastMs: 800, jitterMs: 0 };
  await until(1000);
  enter(first);
  await until(1800);
  first.line?.silence(6000); // longer than the lease, and the opening reads its first answer meanwhile
  await until(3000);
  enter(second);
  await until(now() + 20_000); // the world judges that one instance at a time calls for the video
  await world.upstream.close();
});

test("an opening whose room another instance has taken ends at once, and its viewer follows that", async () => {
  const { world, first, second, watch, reads, until } = twoInstances(5); // one address each
  const [{ videoId } = assert.fail()] = world.liveRooms;
  const [address = assert.fail()] = first.addresses;
  const entry = () => first.life?.rooms.entryOf(videoId);
  await until(20_000);
  world.upstream.fault({ on: "sw.js", from: address, times: 1, as: { delayMs: 3000 } });
  world.upstream.fault({ on: ["popout", "watch"], from: address, times: 9, as: "silent" });
  watch(first, videoId);
  await until(20_300);
  first.line?.cut(6300); // its lease of six seconds expires
  watch(second, videoId);
  await until(27_500);
  assert.ok(reads(second, videoId));
  assert.equal(entry()?.roomState, "bootstrapping");
  await until(29_000); // the page call lasts until 30 s
  assert.deepEqual([entry()?.owned, entry()?.roomState, entry()?.viewerCount], [undefined, "polling", 1]);
  await world.upstream.close();
});
