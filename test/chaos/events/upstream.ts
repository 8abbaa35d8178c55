/** Failures of the upstream, and events in its chats. */
import type { Failure } from "../../../simulator/faults.ts";
import type { RequestKind } from "../../../simulator/requests.ts";
import { CHAT_FAILURES, SCRIPT_FAILURES, THROTTLINGS } from "../../harness/upstream-failures.ts";
import { LOSSY_ROOM } from "../chat-script.ts";
import { ECHO_MS, type Event, expire } from "./event.ts";

/** Slow answers are less slow than in virtual time. */
const LIVE_FAILURES: readonly Failure[] = Object.values({
  ...CHAT_FAILURES,
  "400": { status: 400 },
  slow: { delayMs: 1500 },
  "in pieces": { drip: { bytes: 3000, everyMs: 10 } },
} satisfies Record<string, Failure>);
/** An answer without a chat ends a replay. */
const REPLAY_FAILURES = LIVE_FAILURES.filter((failure) => failure !== "no-contents" && failure !== "silent");
/** For pages only failures that yield no page: a page without a chat says that the chat is over. */
const LOAD_FAILURES: readonly Failure[] = [...Object.values(SCRIPT_FAILURES), { delayMs: 700 }];

const FAILURES: [kind: RequestKind, failures: readonly Failure[]][] = [
  ["get_live_chat", LIVE_FAILURES],
  ["get_live_chat", LIVE_FAILURES],
  ["get_live_chat_replay", REPLAY_FAILURES],
  ["popout", LOAD_FAILURES],
  ["watch", LOAD_FAILURES],
  ["live", LOAD_FAILURES],
  ["streams", LOAD_FAILURES],
  ["sw.js", [...LOAD_FAILURES, "empty", { status: 404 }]],
];

export const UPSTREAM_EVENTS: Record<string, Event> = {
  "upstream failure": {
    times: 16,
    async play(world) {
      const [on, failures] = world.random.pick(FAILURES);
      const as = world.random.pick(failures);
      world.order({ on, as, times: 1 + world.random.below(3) });
      // Pages are only loaded after a token is refused.
      if (on !== "get_live_chat" && on !== "get_live_chat_replay") expire(world);
    },
  },

  expiry: {
    times: 3,
    async play(world) {
      expire(world);
    },
  },

  throttling: {
    times: 2,
    async play(world) {
      world.order({
        on: world.random.pick(["get_live_chat", "get_live_chat", "popout"]),
        as: world.random.pick(Object.values(THROTTLINGS)),
        times: 1,
      });
      expire(world);
      await world.pause(ECHO_MS);
    },
  },

  burst: {
    times: 4,
    async play(world) {
      // In the lossy room the upstream would drop messages that nobody can have known of.
      const room = world.random.pick(world.liveRooms.filter(({ videoId }) => videoId !== LOSSY_ROOM));
      room.chat.say(50 + world.random.below(250));
    },
  },

  "new replay": {
    times: 1,
    async play(world) {
      await world.move(world.script.replay, world.script.newReplay());
      world.verdict.count("replays");
    },
  },
};
