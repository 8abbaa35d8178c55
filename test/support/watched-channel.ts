/** A channel of a virtual relay, and watchers of it. */

import type { ChannelScenario } from "../../simulator/simulated-channel.ts";
import type { Chat } from "../../simulator/simulated-chat.ts";
import type { ChannelState } from "../../src/protocol/channel.ts";
import type { ChannelWatch } from "../../src/rooms/channels/channel-watch.ts";
import { VirtualRelay, type VirtualRelayOptions } from "../harness/virtual-relay.ts";

export const HANDLE = "@somebody";
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** A watcher in the background: the states that it was shown, and the error that ended it. */
class Watcher {
  readonly states: ChannelState[] = [];
  error: unknown;
  readonly watch: ChannelWatch;
  readonly #left = new AbortController();

  constructor(relay: VirtualRelay, channel = HANDLE, address = "192.0.2.1") {
    this.watch = relay.channels.watch(channel, address);
    void this.#follow();
  }

  get last(): ChannelState | undefined {
    return this.states.at(-1);
  }

  /** The states since the last call, in short. */
  news(): string[] {
    return this.states
      .splice(0)
      .map(({ state, videoId = "", reason = "" }) => `${state} ${videoId}${reason}`.trim());
  }

  leave(): void {
    this.#left.abort();
  }

  async #follow(): Promise<void> {
    using watch = this.watch;
    const { broadcasts } = watch;
    try {
      for (let shown: ChannelState | undefined; ; ) {
        const { changes } = broadcasts;
        const state = await broadcasts.known(this.#left.signal);
        if (state !== shown) this.states.push(state);
        shown = state;
        await broadcasts.changedSince(changes, this.#left.signal);
      }
    } catch (error) {
      this.error = error;
    }
  }
}

export function watched(scenario: Partial<ChannelScenario> = {}, options: VirtualRelayOptions = {}) {
  const relay = new VirtualRelay(options);
  const { clock, upstream } = relay;
  const channel = upstream.channel(HANDLE, scenario);
  return {
    relay,
    clock,
    upstream,
    channel,
    watcher: (name = HANDLE, address?: string) => new Watcher(relay, name, address),
    /** A watcher that has seen the first look. The next ones come in the middle of each minute from now. */
    settled: async () => {
      const watcher = new Watcher(relay);
      await relay.advance(MINUTE / 2);
      return watcher;
    },
    /** In whole seconds, as pages name times. */
    in: (ms: number) => Math.floor((clock.now() + ms) / 1000) * 1000,
    looks: () => upstream.requests.filter(({ kind }) => kind === "live" || kind === "streams"),
  };
}

/** One answer says that the chat is over, and its page that it is not. */
export async function endFalsely(relay: VirtualRelay, chat: Chat): Promise<void> {
  chat.end("reload-only");
  await relay.requested("get_live_chat", { finished: true });
  chat.change({ kind: "live" });
}
