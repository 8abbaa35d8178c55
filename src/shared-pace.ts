/**
 * The pace of an address that several instances share. Before a call starts, its time is reserved in a place that all
 * of them see; they also see there how long the upstream throttles the address, and what the others' rooms ask of it.
 */
export interface SharedPace {
  /** Reserves the time of one call. Rejects where the place cannot be reached. */
  reserve(wish: ReservationWish): Promise<Reservation>;
  /** Tells all instances that chat calls, or pages, are throttled for so long. Rejects as `reserve` does. */
  coolDown(leftMs: number, isPage: boolean): Promise<void>;
}

interface ReservationWish {
  /** From the reserved time on, no other call may start for so long. */
  spacingMs: number;
  /** The time lies so far ahead at least when it is reserved. */
  aheadMs: number;
  /** What the rooms of this instance ask for at least. */
  pollsPerSecond: number;
}

export interface Reservation {
  /** When it was made, in milliseconds on the clock of the place. */
  now: number;
  /** When the call may start, on the same clock. */
  startAt: number;
  /** How long all calls, or pages alone, are throttled by now, in milliseconds; 0: they are not. */
  cooldownMs: number;
  pageCooldownMs: number;
  /** What the rooms of the other instances ask for at least. */
  othersPollsPerSecond: number;
}
