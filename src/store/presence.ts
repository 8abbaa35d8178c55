/** Who watches a room, over all instances on one store: what decides that a room is released. */
export interface Presence {
  /** Says how many viewers this instance has in a room, those who wait for its bootstrap included. */
  watch(videoId: string, viewers: number): void;

  /**
   * For how long a room counts as watched yet, in milliseconds, unless somebody goes on watching; 0: nobody has
   * watched it for the grace time. Rejects with `StoreError` "unavailable".
   */
  watchedForMs(videoId: string): Promise<number>;
}

/** For the stores that one instance has to itself: its viewers are all there are. */
export class LocalPresence implements Presence {
  readonly #watched = new Set<string>();

  watch(videoId: string, viewers: number): void {
    if (viewers > 0) this.#watched.add(videoId);
    else this.#watched.delete(videoId);
  }

  async watchedForMs(videoId: string): Promise<number> {
    return this.#watched.has(videoId) ? Number.POSITIVE_INFINITY : 0;
  }
}
