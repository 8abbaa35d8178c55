/** The page's settings, kept in its URL: the controls change the URL, so a link reproduces the view. */
import { parseStart } from "../../src/protocol/offset.ts";
import { type Filters, readFilters } from "../chat/filters.ts";
import { Parameters } from "../chat/parameters.ts";
import type { Source } from "../chat/source-name.ts";
import { remember, remembered, THEMES } from "./remembered.ts";
import { readVideos, type Videos } from "./videos.ts";

const SWITCH = ["on", "off"] as const;
const TIMES = ["local", "service", "off"] as const;
/** The page's appearance, by parameter; the first value is the default. They are attributes of `<html>`. */
const APPEARANCE = {
  density: ["comfortable", "compact"],
  colors: ["off", "on"],
  layout: ["full", "dock"],
} as const;
const TABS = ["chat", "stats"] as const;
type Tab = (typeof TABS)[number];

export interface Settings extends Source, Videos {
  /** The video whose tab is chosen, if there are several. */
  chat: string;
  /** The stored chat of the one video that is shown; empty: the one that a new viewer gets. */
  storedChat: "" | "live" | "replay";
  /** Undefined: all types. */
  types: ReadonlySet<string> | undefined;
  q: string;
  filters: Filters;
  theme: (typeof THEMES)[number];
  images: boolean;
  /** Times in the reader's zone, as the service has them, or none. */
  timestamps: (typeof TIMES)[number];
  appearance: Readonly<Record<keyof typeof APPEARANCE, string>>;
  /** The font size in px; undefined: by the width of the page. */
  size: number | undefined;
  deleted: "hide" | "strike" | "remove";
  backfill: number | undefined;
  /** Whether a screen reader is read new messages. */
  aloud: boolean;
  tab: Tab;
  /** A replay is shown at the pace of its video, or whole. */
  follow: "" | "video";
  /** Where the video begins, in seconds. */
  start: number;
}

/**
 * Settings remembered in this browser, as they were when the page was opened: so a step back in the browser's
 * history takes a change back. The URL overrides them.
 */
const REMEMBERED: Readonly<Record<string, string | undefined>> = {
  theme: remembered("theme"),
  images: remembered("images"),
};

export function readSettings(search: string): Settings {
  const parameters = new Parameters(search);
  const videoId = parameters.text("videoId").trim();
  const videos = readVideos(videoId === "" ? parameters.list("videoIds") : [videoId]);
  const { refusal } = videos;
  const [first, ...others] = videos.videoIds;
  if (refusal) parameters.refuse("videoIds", refusal.message);
  return {
    ...videos,
    chat: first === undefined ? "" : parameters.oneOf("chat", [first, ...others]),
    storedChat: first === undefined ? parameters.oneOf("chat", ["", "live", "replay"]) : "",
    channel: parameters.text("channel").trim(),
    types: parameters.types(),
    q: parameters.text("q"),
    filters: readFilters(parameters),
    theme: parameters.oneOf("theme", THEMES, rememberedOf("theme", THEMES)),
    images: parameters.oneOf("images", SWITCH, rememberedOf("images", SWITCH)) === "on",
    timestamps: parameters.oneOf("timestamps", TIMES),
    appearance: {
      density: parameters.oneOf("density", APPEARANCE.density),
      colors: parameters.oneOf("colors", APPEARANCE.colors),
      layout: parameters.oneOf("layout", APPEARANCE.layout),
    },
    size: parameters.number("size", { min: 8, max: 96 }, undefined),
    deleted: parameters.oneOf("deleted", ["hide", "strike", "remove"]),
    backfill: parameters.number("backfill", { min: 0, max: 500 }, undefined),
    aloud: parameters.oneOf("aloud", ["off", "on"]) === "on",
    tab: parameters.oneOf("tab", TABS),
    follow: parameters.oneOf("follow", ["", "video"]),
    start: startIn(parameters),
  };
}

function startIn(parameters: Parameters): number {
  const text = parameters.text("t");
  const start = parseStart(text);
  if (start === undefined && text !== "") parameters.refuse("t", "use seconds, or a time such as 1h2m3s");
  return start ?? 0;
}

function rememberedOf<T extends string>(name: string, allowed: readonly T[]): T | undefined {
  const value = REMEMBERED[name];
  return allowed.find((each) => each === value);
}

/** Writes parameters into the URL; an empty value removes one. */
export function writeUrl(changes: Record<string, string>, how: "push" | "replace"): void {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") url.searchParams.delete(name);
    else url.searchParams.set(name, value);
    if (Object.hasOwn(REMEMBERED, name)) remember(name, value);
  }
  if (url.href === location.href) return;
  if (how === "push") history.pushState(null, "", url);
  else history.replaceState(null, "", url);
}
