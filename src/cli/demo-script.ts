/** What happens to the demo's stream while it runs, so that bots and scenes can be rehearsed. */
import type { Broadcast, Simulator } from "../../simulator/index.ts";
import type { Act, Step } from "./demo-flags.ts";

/** What the steps act on. */
export interface Stage {
  upstream: Simulator;
  broadcast: Broadcast;
  /** Begins the channel's next stream. */
  next(): void;
  /** Does it later; a demo that has stopped does not wait for it. */
  later(ms: number, act: () => void): void;
}

/** Longer than a poll may be late before messages count as missing. */
const GAP_MS = 15_000;

const PLAY: Readonly<Record<Act, (stage: Stage) => void>> = {
  start: ({ broadcast }) => broadcast.start(),
  off: ({ broadcast }) => broadcast.chat.change({ kind: "off" }),
  on: ({ broadcast }) => broadcast.chat.change({ kind: "live" }),
  gap: ({ upstream, broadcast: { videoId, chat }, later }) => {
    chat.change({ page: 5, holdsMs: GAP_MS / 3 }); // the messages shown afterwards do not join
    const fault = upstream.fault({ on: "get_live_chat", videoId, times: Infinity, as: { status: 503 } });
    later(GAP_MS, () => fault.cancel());
  },
  end: ({ broadcast }) => broadcast.end(),
  next: ({ next }) => next(),
};
/** Plays the steps from now on. `told` hears of each when it happens. */
export function playScript(steps: readonly Step[], stage: Stage, told: (act: Act) => void): void {
  for (const { afterMs, act } of steps)
    stage.later(afterMs, () => {
      PLAY[act](stage);
      told(act);
    });
}
