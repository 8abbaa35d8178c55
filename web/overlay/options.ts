/** The overlay's options, read from its URL's parameters. */
import type { Look } from "../chat/message.ts";
import { Parameters } from "../chat/parameters.ts";

const THEMES = ["dark", "light", "bubbles", "plate", "terminal", "none"] as const;
const MAX_ROWS = 200;
const MAX_BACKFILL = 500;
const MAX_FADE_S = 24 * 60 * 60;

export interface Options {
  videoId: string;
  /** Undefined: all types. */
  types: ReadonlySet<string> | undefined;
  /** Maximum messages in the document. */
  max: number;
  /** 0: rows do not fade. */
  fadeMs: number;
  backfill: number;
  direction: "up" | "down";
  align: "left" | "right";
  sizePx: number;
  theme: (typeof THEMES)[number];
  look: Look;
  /** Names of hidden authors, in lower case and without `@`. */
  hide: ReadonlySet<string>;
  commands: boolean;
  demo: boolean;
}

export function readOptions(search: string): Options {
  const parameters = new Parameters(search);
  const isOn = (name: string): boolean => parameters.oneOf(name, ["on", "off"]) === "on";
  const isOnIfAsked = (name: string): boolean => parameters.oneOf(name, ["off", "on"]) === "on";
  const max = Math.floor(parameters.number("max", 1, MAX_ROWS, 30));
  const fadeMs = parameters.number("fade", 0, MAX_FADE_S, 0) * 1000;
  return {
    videoId: parameters.text("videoId").trim(),
    types: parameters.types(),
    max,
    fadeMs,
    backfill: Math.floor(parameters.number("backfill", 0, MAX_BACKFILL, fadeMs === 0 ? max : 0)),
    direction: parameters.oneOf("direction", ["up", "down"]),
    align: parameters.oneOf("align", ["left", "right"]),
    sizePx: parameters.number("size", 8, 96, 24),
    theme: parameters.oneOf("theme", THEMES),
    look: {
      images: isOn("images"),
      avatars: isOn("avatars"),
      badges: isOn("badges"),
      timestamps: isOnIfAsked("timestamps"),
      deleted: parameters.oneOf("deleted", ["remove", "hide", "strike"]),
    },
    hide: new Set(parameters.list("hide").map(bareName)),
    commands: isOn("commands"),
    demo: isOnIfAsked("demo"),
  };
}

export function bareName(author: string): string {
  return author.trim().toLowerCase().replace(/^@/, "");
}
