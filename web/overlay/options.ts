/**
 * The overlay's options, read from its URL's parameters. The set-up page makes its controls from these
 * tables.
 */

import { toAddress } from "../chat/address.ts";
import type { Money } from "../chat/amounts.ts";
import { amountIn, type Filters, readFilters, TIERS } from "../chat/filters.ts";
import { Parameters, type Warn } from "../chat/parameters.ts";
import type { Display, ShownMessage } from "../chat/shown-message.ts";
import type { Source } from "../chat/source-name.ts";

const ON = ["on", "off"] as const;
const OFF = ["off", "on"] as const;

/** Parameters with a choice of values; the first one is the default. */
export const CHOICES = {
  view: ["chat", "alerts", "poll", "ticker", "goal", "featured"],
  theme: ["dark", "light", "bubbles", "plate", "terminal", "none"],
  direction: ["up", "down"],
  align: ["left", "right"],
  images: ON,
  avatars: ON,
  badges: ON,
  timestamps: OFF,
  commands: ON,
  deleted: ["remove", "hide", "strike"],
  demo: OFF,
  all: OFF,
  speech: ["off", "paid", "all"],
  goal: ["members", "paid"],
} as const;

/** Parameters that are numbers; the default of one without `usual` depends on others. */
export const NUMBERS = {
  max: { min: 1, max: 200, isWhole: true, usual: 30 },
  fade: { min: 0, max: 24 * 60 * 60, usual: 0 },
  hold: { min: 0.1, max: 60 * 60, usual: 8 },
  backfill: { min: 0, max: 500 },
  size: { min: 8, max: 96, usual: 24 },
  minTier: TIERS,
  volume: { min: 0, max: 100, usual: 50 },
  target: { min: 1, max: 1e9, usual: 100 },
} as const;

/** What an alert has besides its card. */
export interface EffectOptions {
  /** `off`, `on` (a sound of our own), or the URL of one. */
  sound: string;
  /** 0 to 1. */
  volume: number;
  speech: "off" | "paid" | "all";
  /** Only messages that paid this much are read. */
  speechFrom: Money | undefined;
  /** URL; empty: none. */
  picture: string;
}

/** What a goal counts. */
export interface GoalOptions {
  counts: "members" | "paid";
  target: number;
  /** ISO 4217, for `paid`; empty: that of the first payment. */
  currency: string;
  /** In ms since 1970; undefined: the begin of the broadcast, or else the first stored message. */
  since: number | undefined;
  title: string;
}

export interface Options extends Source {
  /** Without `videoId`, the ids or URLs of several chats in one list. */
  videoIds: readonly string[];
  view: (typeof CHOICES.view)[number];
  /** Whether all live broadcasts of the channel are in one list. */
  all: boolean;
  /** Undefined: all types. */
  types: ReadonlySet<string> | undefined;
  /** Maximum messages in the document. */
  max: number;
  /** 0: rows do not fade. */
  fadeMs: number;
  holdMs: number;
  /** Undefined: the view's default. */
  backfill: number | undefined;
  direction: (typeof CHOICES.direction)[number];
  align: (typeof CHOICES.align)[number];
  sizePx: number;
  theme: (typeof CHOICES.theme)[number];
  display: Display;
  isHidden: (message: ShownMessage) => boolean;
  commands: boolean;
  filters: Filters;
  effects: EffectOptions;
  goal: GoalOptions;
  demo: boolean;
}

/** `warn` gets a sentence about each value of the URL that cannot be used; usually, the console does. */
export function readOptions(overlay: URL, warn?: Warn): Options {
  const parameters = new Parameters(overlay.search, warn);
  const choice = <N extends keyof typeof CHOICES>(name: N): (typeof CHOICES)[N][number] =>
    parameters.oneOf<(typeof CHOICES)[N][number]>(name, CHOICES[name]);
  const number = (name: Exclude<keyof typeof NUMBERS, "backfill" | "minTier">): number => {
    const { usual, ...range } = NUMBERS[name];
    return parameters.number(name, range, usual);
  };
  const since = Date.parse(parameters.text("since"));
  if (Number.isNaN(since) && parameters.text("since") !== "")
    parameters.refuse("since", "use a time such as 2026-01-31T18:00:00Z");
  const currency = /^[a-z]{3}$/i.exec(parameters.text("currency"))?.[0] ?? "";
  if (currency !== parameters.text("currency"))
    parameters.refuse("currency", "use three letters such as EUR");
  const videoId = parameters.text("videoId").trim();
  const sound = parameters.text("sound");
  const backfill = parameters.number("backfill", NUMBERS.backfill, undefined);
  return {
    videoId,
    videoIds: videoId === "" ? parameters.list("videoIds") : [],
    channel: parameters.text("channel").trim(),
    all: choice("all") === "on",
    view: choice("view"),
    types: parameters.types(),
    max: number("max"),
    fadeMs: number("fade") * 1000,
    holdMs: number("hold") * 1000,
    backfill: backfill === undefined ? undefined : Math.floor(backfill),
    direction: choice("direction"),
    align: choice("align"),
    sizePx: number("size"),
    theme: choice("theme"),
    display: {
      images: choice("images") === "on",
      avatars: choice("avatars") === "on",
      badges: parameters.text("badges") !== "off",
      timestamps: choice("timestamps") === "on",
      localTimes: true,
      deleted: choice("deleted"),
      isMarked: parameters.people("mark"),
    },
    isHidden: parameters.people("hide"),
    commands: choice("commands") === "on",
    filters: readFilters(parameters),
    effects: {
      sound: /^(?:off|on)$/.test(sound) ? sound : urlIn(parameters, "sound", overlay) || "off",
      volume: number("volume") / 100,
      speech: choice("speech"),
      speechFrom: amountIn(parameters, "speechFrom"),
      picture: urlIn(parameters, "picture", overlay),
    },
    goal: {
      counts: choice("goal"),
      target: number("target"),
      currency: currency.toUpperCase(),
      since: Number.isNaN(since) ? undefined : since,
      title: parameters.text("title"),
    },
    demo: choice("demo") === "on",
  };
}

/** The URL if the overlay's policy lets it load, else "". */
function urlIn(parameters: Parameters, name: string, overlay: URL): string {
  const text = parameters.text(name);
  const url = text === "" ? undefined : toAddress(text, overlay.href);
  if (url && (/^(?:https|data):$/.test(url.protocol) || url.origin === overlay.origin)) return url.href;
  if (text !== "") parameters.refuse(name, "use an https: or data: URL");
  return "";
}
