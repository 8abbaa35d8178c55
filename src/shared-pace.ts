/**
 * The pace of an address that several instances share. Before a call starts, its time is reserved in a place that all
 * of them see; they also see there how long the upstream throttles the address, and what the others' rooms ask of it.
 */
export interface SharedPace {
  /**
   * Reserves the time of one call. `pollsPerSecond`: what the rooms of this instance ask for at least. Rejects where the place
   * cannot be reached.
   */
  reserve(spacingMs: number, pollsPerSecond: number): Promise<Reservation>;
  /** Tells all instances that chat calls, or pages, are throttled for so long. Rejects as `reserve` does. */
  coolDown(leftMs: number, isPage: boolean): Promise<void>;
}

export interface Reservation {
  /** Until the call may start, in milliseconds; 0: now. */
  waitMs: number;
  /** How long all calls, or pages alone, are throttled by now; 0: they are not. */
  cooldownMs: number;
  pageCooldownMs: number;
  /** What the rooms of the other instances ask for at least. */
  othersPollsPerSecond: number;
}
