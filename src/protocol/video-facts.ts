/** What a video is, as pages of the upstream have shown it. A fact that no page has shown is absent. */
export interface VideoFacts {
  /** As its owner wrote it, of any characters. */
  title?: string;
  channel?: {
    /** `UC…`. */
    id?: string;
    /** As its owner wrote it. */
    name?: string;
    /** With its `@`, in lower case. */
    handle?: string;
  };
  /** When the stream began and ended, ISO 8601 in UTC. */
  startedAt?: string;
  endedAt?: string;
}
