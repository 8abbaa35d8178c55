/**
 * The fence: who may write to a room. One rule and one wording for every store, so that an owner that was
 * overtaken is refused alike everywhere, before anything of its write has happened.
 */
import { type Claim, type RoomRecord, StoreError } from "./port.ts";

/** What the fence looks at. */
type Guarded = Pick<Claim, "epoch"> & Pick<RoomRecord, "head">;

/**
 * Passes if `claim` is the room's newest one, and its head is where the writer believes it to be. Throws `StoreError`
 * "fenced" otherwise.
 */
export function assertOwner<R extends Guarded>(
  room: R | undefined,
  claim: Claim,
  expectedHead?: number,
): asserts room is R {
  const refuse = (reason: string) => new StoreError("fenced", `room ${claim.videoId}: ${reason}`);
  if (!room) throw refuse("it is not in the store");
  if (room.epoch !== claim.epoch) throw refuse(`epoch ${claim.epoch} has given way to ${room.epoch}`);
  if (expectedHead !== undefined && room.head !== expectedHead) {
    throw refuse(`its head is ${room.head}, not ${expectedHead}`);
  }
}
