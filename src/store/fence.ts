/**
 * The fence decides who may write to a room: it refuses a former owner before any part of its write happens.
 * SQLite applies this rule before a write. PostgreSQL's functions repeat it in SQL (`append-schema.ts`), and
 * this words their refusal.
 */
import type { Claim, RoomRecord } from "./port.ts";
import { StoreError } from "./store-error.ts";

/** The fields that the fence checks. */
type Guarded = Pick<Claim, "epoch"> & Pick<RoomRecord, "head">;

/**
 * Asserts that `claim` has the room's epoch, and that its head is the one that the writer expects. Throws
 * `StoreError` "fenced" otherwise.
 */
export function assertOwner<R extends Guarded>(
  room: R | undefined,
  claim: Claim,
  expectedHead?: number,
): asserts room is R {
  const refuse = (reason: string) => new StoreError("fenced", `room ${claim.key}: ${reason}`);
  if (!room) throw refuse("it is not in the store");
  if (room.epoch !== claim.epoch) throw refuse(`epoch ${claim.epoch} has given way to ${room.epoch}`);
  if (expectedHead !== undefined && room.head !== expectedHead) {
    throw refuse(`its head is ${room.head}, not ${expectedHead}`);
  }
}
