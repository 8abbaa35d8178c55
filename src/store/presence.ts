/** Who watches a room, over all instances on one store: what decides that a room is released. */
export interface Presence {
  /** Says how many viewers this instance has in a room, those who wait for its bootstrap included. */
  watch(videoId: string, viewers: number): void;

  /** Whether any instance has a viewer in the room. Rejects with `StoreError` "unavailable". */
  isWatched(videoId: string): Promise<boolean>;
}

/** For the stores that one instance has to itself: its viewers are all there are. */
export class LocalPresence implements Presence {
  readonly #watched = new Set<string>();

  watch(videoId: string, viewers: number): void {
    if (viewers > 0) this.#watched.add(videoId);
    else this.#watched.delete(videoId);
  }

  async isWatched(videoId: string): Promise<boolean> {
    return this.#watched.has(videoId);
  }
}
