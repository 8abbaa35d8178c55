/** The number of connections that carry several chats. */

type Stream = "merged" | "channel";

export class Connections {
  readonly #open: Record<Stream, number> = { merged: 0, channel: 0 };

  /** Counts a connection until it is over. */
  add(stream: Stream, gone: AbortSignal): void {
    this.#open[stream] += 1;
    gone.addEventListener("abort", () => {
      this.#open[stream] -= 1;
    });
  }

  byStream(): [stream: string, count: number][] {
    return Object.entries(this.#open);
  }
}
