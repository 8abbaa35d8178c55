/**
 * Ownership within one process, for the stores that only one process opens: a lease is held until the room is claimed
 * again, a write is fenced, the room is over, or the store is closed.
 */
import { type Claim, type Lease, StoreError } from "./port.ts";

export class LocalLeases {
  /** Of each room that is owned, the epoch of its owner. */
  readonly #epochs = new Map<string, number>();

  grant({ videoId, epoch }: Claim): Lease {
    this.#epochs.set(videoId, epoch);
    return {
      assertHeld: () => {
        if (this.#epochs.get(videoId) === epoch) return;
        throw new StoreError("fenced", `room ${videoId}: epoch ${epoch} is no longer its owner's`);
      },
    };
  }

  end({ videoId, epoch }: Claim): void {
    if (this.#epochs.get(videoId) === epoch) this.#epochs.delete(videoId);
  }

  endAll(): void {
    this.#epochs.clear();
  }
}
