/**
 * The pace of an egress that several instances share. An instance reserves the time of each call in the
 * database, which also holds the upstream's cooldowns and the demand of each instance's rooms.
 */
export interface SharedPace {
  /** Reserves the time of one call. Rejects if the database cannot be reached. */
  reserve(request: ReservationRequest): Promise<Reservation>;
  /**
   * Reports to all instances that the upstream throttles chat calls, or page loads only, for `leftMs`.
   * Rejects as `reserve` does.
   */
  coolDown(leftMs: number, isPage: boolean): Promise<void>;
}

interface ReservationRequest {
  /** The minimum time from the start of this call to the start of the next one, in milliseconds. */
  spacingMs: number;
  /** The minimum time between the reservation and the start of the call, in milliseconds. */
  aheadMs: number;
  /** The minimum demand of this instance's rooms. */
  pollsPerSecond: number;
}

export interface Reservation {
  /** The time of the reservation, in milliseconds on the database's clock. */
  now: number;
  /** The time at which the call may start, on the same clock. */
  startAt: number;
  /** The cooldown left for all calls, and for page loads, in milliseconds; 0 if there is none. */
  cooldownMs: number;
  pageCooldownMs: number;
  /** The minimum demand of the other instances' rooms. */
  othersPollsPerSecond: number;
  /** The number of other instances that have called lately. */
  otherInstances: number;
}
