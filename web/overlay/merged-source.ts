/** Several chats in one list. Each is tried for ever, as the overlay of one chat tries it. */
import type { Featured } from "../../client/index.ts";
import { type ChatPlace, MergedConnection } from "../chat/merged-connection.ts";
import type { ShownMessage, SourceMark } from "../chat/shown-message.ts";
import { readMarks } from "./source-marks.ts";

/** The state of the overlay is the first of these that a chat has. */
const STATES = ["open", "reconnecting", "connecting", "waiting", "ended"];

export interface MergedSourceOptions {
  service: string;
  token: string | undefined;
  /** As `readMarks` takes them. */
  videoIds: readonly string[];
  labels: readonly string[];
  backfill: number;
  types: readonly string[] | undefined;
  /** Whether `feature` is called. */
  hasFeatured: boolean;
  failedMs(attempt: number): number;
  releasedMs: number;
  /** The next messages of the chat are its backfill. */
  begins(): void;
  take(items: readonly (ShownMessage | "gap")[], mark: SourceMark): void;
  /** Another message of the chat is featured, or none. */
  feature(featured: Featured, mark: SourceMark): void;
  showState(state: string): void;
  /** The service refused all chats before any was open. */
  refused(message: string, code: string): void;
  /** A chat is there. */
  opened(): void;
  /** No id can be used. */
  none(): void;
}

export function openMerged(options: MergedSourceOptions): void {
  const states = new Map<string, string>();
  const begun = new Set<string>();
  let wasOpen = false;
  const set = (videoId: string, state: string): void => {
    states.set(videoId, state);
    const shown = STATES.find((each) => [...states.values()].includes(each));
    if (shown) options.showState(shown);
  };
  const placeOf = (mark: SourceMark): ChatPlace => {
    const { videoId } = mark;
    let failures = 0;
    const again = (waitMs: number): unknown => setTimeout(() => connection.goOn(videoId), waitMs);
    const lost = (): string => (begun.has(videoId) ? "reconnecting" : "connecting");
    return {
      opened: () => {
        failures = 0;
        wasOpen = true;
        options.opened();
        if (!begun.has(videoId)) options.begins();
        begun.add(videoId);
      },
      take: (items) => options.take(items, mark),
      feature: (featured) => options.feature(featured, mark),
      status: {
        show: (state, detail = "", code = "") => {
          if (state === "failed" && !wasOpen && /^(?:UNAUTHORIZED|FORBIDDEN)$/.test(code))
            options.refused(detail, code);
          if (state === "failed") again(options.failedMs(failures++));
          const isReleased = state === "ended" && detail !== "no more continuations";
          if (isReleased) again(options.releasedMs);
          set(videoId, state === "failed" || isReleased || state === "connecting" ? lost() : state);
        },
        wait: (state) => set(videoId, state === "waiting" ? state : lost()),
      },
    };
  };
  const { service, token, types, hasFeatured } = options;
  const marks = readMarks(options.videoIds, options.labels);
  if (marks.size === 0) {
    options.none();
    return;
  }
  const places = new Map([...marks].map(([videoId, mark]) => [videoId, placeOf(mark)] as const));
  const connection = new MergedConnection(places, { service, token, types, hasFeatured });
  connection.open(options.backfill);
}
