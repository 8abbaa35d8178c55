/**
 * Gives an opening up for another instance. An instance holds the room that it opens. If it cannot reach the
 * upstream and another instance has viewers of the room, it gives up, so that the other one can open it. With
 * no such instance, as in a single process, an opening has no time limit here.
 */
import { pause } from "../../base/clock.ts";
import { atCapacity } from "../../protocol/capacity.ts";
import type { ChatKey } from "../../protocol/chat-key.ts";
import { isUnavailable } from "../../store/store-error.ts";
import { background } from "../../telemetry/background.ts";
import type { RoomEgress } from "../../upstream/egress/room-egress.ts";
import { OUT_MS } from "../../upstream/egress/silence.ts";
import type { OwnedRoomParts } from "../owned-room.ts";

const CHECK_MS = 1000;

type YieldParts = Pick<OwnedRoomParts, "store" | "egresses" | "clock" | "telemetry">;

export class OpeningYield implements Disposable {
  readonly #yielded = new AbortController();
  readonly #over = new AbortController();

  /** Begins at once. `keys`: the chats that the instance holds. Dispose of it when the opening is over. */
  constructor(keys: readonly ChatKey[], egress: RoomEgress, parts: YieldParts) {
    void background("yield of an opening", parts, this.#over.signal, () => this.#watch(keys, egress, parts));
  }

  /** Aborts with `RelayError` CAPACITY when the opening is given up. */
  get signal(): AbortSignal {
    return this.#yielded.signal;
  }

  [Symbol.dispose](): void {
    this.#over.abort();
  }

  async #watch(
    keys: readonly ChatKey[],
    egress: RoomEgress,
    { store, egresses, clock }: YieldParts,
  ): Promise<void> {
    const { signal } = this.#over;
    for (let waitMs = OUT_MS; !signal.aborted; waitMs = CHECK_MS) {
      await pause(clock, waitMs, signal);
      if (signal.aborted || egress.unreachedMs < OUT_MS) continue;
      const wanted = await store.ownership.wantedElsewhere(keys).catch((error: unknown) => {
        if (!isUnavailable(error)) throw error;
        return []; // already reported; the next check tries again
      });
      if (wanted.length === 0) continue;
      egresses.cutOff();
      return this.#yielded.abort(atCapacity("unreachable"));
    }
  }
}
