/**
 * The overlay's options, read from its URL's parameters. The set-up page makes its controls from these
 * tables.
 */

import { Parameters } from "../chat/parameters.ts";
import type { Look, ShownMessage } from "../chat/shown-message.ts";
import type { Source } from "../chat/source.ts";

const ON = ["on", "off"] as const;
const OFF = ["off", "on"] as const;

/** Parameters with a choice of values; the first one is the default. */
export const CHOICES = {
  view: ["chat", "alerts", "poll", "ticker"],
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
} as const;

/** Parameters that are numbers; the default of one without `usual` depends on others. */
export const NUMBERS = {
  max: { min: 1, max: 200, usual: 30 },
  fade: { min: 0, max: 24 * 60 * 60, usual: 0 },
  hold: { min: 0.1, max: 60 * 60, usual: 8 },
  backfill: { min: 0, max: 500 },
  size: { min: 8, max: 96, usual: 24 },
} as const;

export interface Options extends Source {
  /** Without `videoId`, the ids or URLs of several chats in one list, and the labels of some (`id:label`). */
  videoIds: readonly string[];
  labels: readonly string[];
  view: (typeof CHOICES.view)[number];
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
  look: Look;
  isHidden: (message: ShownMessage) => boolean;
  commands: boolean;
  demo: boolean;
}

export function readOptions(search: string): Options {
  const parameters = new Parameters(search);
  const choice = <N extends keyof typeof CHOICES>(name: N): (typeof CHOICES)[N][number] =>
    parameters.oneOf<(typeof CHOICES)[N][number]>(name, CHOICES[name]);
  const number = (name: Exclude<keyof typeof NUMBERS, "backfill">): number => {
    const { min, max, usual } = NUMBERS[name];
    return parameters.number(name, min, max, usual);
  };
  const videoId = parameters.text("videoId").trim();
  const backfill = parameters.number("backfill", NUMBERS.backfill.min, NUMBERS.backfill.max, undefined);
  return {
    videoId,
    videoIds: videoId === "" ? parameters.list("videoIds") : [],
    labels: parameters.list("labels"),
    channel: parameters.text("channel").trim(),
    view: choice("view"),
    types: parameters.types(),
    max: Math.floor(number("max")),
    fadeMs: number("fade") * 1000,
    holdMs: number("hold") * 1000,
    backfill: backfill === undefined ? undefined : Math.floor(backfill),
    direction: choice("direction"),
    align: choice("align"),
    sizePx: number("size"),
    theme: choice("theme"),
    look: {
      images: choice("images") === "on",
      avatars: choice("avatars") === "on",
      badges: choice("badges") === "on",
      timestamps: choice("timestamps") === "on",
      localTimes: true,
      deleted: choice("deleted"),
      isMarked: parameters.people("mark"),
    },
    isHidden: parameters.people("hide"),
    commands: choice("commands") === "on",
    demo: choice("demo") === "on",
  };
}
