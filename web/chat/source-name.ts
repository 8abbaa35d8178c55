/** The names of the chat that a page shows. */
export interface Source {
  /** Id or URL of a video; empty: the channel's streams. */
  videoId: string;
  /** A handle, or the id or URL of a channel. */
  channel: string;
}
