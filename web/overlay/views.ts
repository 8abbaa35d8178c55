/** The overlay's views: which messages each shows, how many at once, and for how long. */
import { GROUPS } from "../../client/index.ts";
import type { ShownMessage } from "../chat/shown-message.ts";
import { IN_TICKER, standsInTickerMs } from "../chat/ticker-times.ts";
import type { Options } from "./options.ts";

export interface View {
  /** Undefined: all types that are rows. */
  types: ReadonlySet<string> | undefined;
  /** Maximum rows in the document. */
  most: number;
  /** Rows without a place wait for one; otherwise they push out the oldest. */
  waits: boolean;
  hasPinned: boolean;
  /** The time that a row takes to fade out. */
  fadingMs: number;
  /** Number of recent rows to begin with. */
  backfill: number;
  /** How long the row stays from now on; 0: it is not shown. `isNew`: whether nobody has seen it yet. */
  staysMs(message: ShownMessage, isNew: boolean): number;
}

const FOR_EVER = Number.POSITIVE_INFINITY;
const FADING_MS = 1000;
const CHANGING_MS = 300;

/** Without deletions, which every view gets. */
const GOAL_TYPES: Record<Options["goal"]["counts"], ReadonlySet<string>> = {
  members: new Set(["membership", "gift"]),
  paid: new Set(["superchat", "supersticker"]),
};
const OF_SUPPORT: ReadonlySet<string> = new Set([...GROUPS.paid, ...GROUPS.members]);

/** The view that the options ask for. `types` narrows what it shows. */
export function viewOf({ view, types, max, fadeMs, holdMs, backfill, goal }: Options): View {
  const common = { most: max, waits: false, hasPinned: false, fadingMs: CHANGING_MS };
  const views: Record<Options["view"], View> = {
    chat: {
      ...common,
      types,
      hasPinned: true,
      fadingMs: FADING_MS,
      backfill: fadeMs === 0 ? max : 0, // a fading chat must not flash old messages
      staysMs: () => fadeMs || FOR_EVER,
    },
    alerts: {
      ...common,
      types: narrowed(OF_SUPPORT, types),
      most: 1,
      waits: true,
      backfill: 0, // and old alerts must not be shown again
      staysMs: () => holdMs,
    },
    // A poll that is over when the overlay first sees it is old.
    poll: {
      ...common,
      types: new Set(["poll"]),
      most: 1,
      backfill: 1,
      staysMs: ({ details }, isNew) => (details.poll?.state !== "closed" ? FOR_EVER : isNew ? 0 : holdMs),
    },
    ticker: {
      ...common,
      types: narrowed(IN_TICKER, types),
      backfill: max,
      staysMs: (message) => standsInTickerMs(message, Date.now(), holdMs),
    },
    // It has no rows, and reads older messages itself.
    goal: {
      ...common,
      types: GOAL_TYPES[goal.counts],
      backfill: 0,
      staysMs: () => 0,
    },
    // It has no rows: an event of the stream says what it shows.
    featured: {
      ...common,
      types: new Set(),
      backfill: 0,
      staysMs: () => 0,
    },
  };
  const chosen = views[view];
  const hasRows = view !== "goal" && view !== "featured";
  return backfill === undefined || !hasRows ? chosen : { ...chosen, backfill };
}

/** Those of the view's types that are asked for; all of them if none is. */
function narrowed(own: ReadonlySet<string>, asked: ReadonlySet<string> | undefined): ReadonlySet<string> {
  const both = new Set([...own].filter((type) => asked?.has(type)));
  return both.size > 0 ? both : own;
}
