/** The flags of the commands that talk to a service, and their parsers. */

import { suggestOrList } from "../../src/base/suggest.ts";
import { type Argument, EntryError, type Flag, type FlagTable } from "../../src/cli/flags.ts";
import { durationIn, httpUrl, oneOf, serviceUrl, whole } from "../../src/cli/setting-readers.ts";
import { CHATS } from "../../src/protocol/chat.ts";
import { GROUPS, type MessageType, typeNames, typesOf } from "../../src/protocol/kinds.ts";
import { parseVideoOffset } from "../../src/protocol/offset.ts";
import { parseTime } from "../../src/protocol/time.ts";
import { FORMAT_NAMES, type FormatName } from "./export-formats.ts";
import { tokenText } from "./sent-token.ts";
import { type Cursor, parseCursor } from "./subject.ts";

export const VIDEO: Argument = {
  name: "video",
  meaning: "the video's id or URL",
  pattern: /^-[\w-]{10}$/, // a video id can begin with a dash; no flag has this length
};

export const ONE_CHAT =
  "watch reads one chat: start one for each video, or read several on one connection with GET /v1/merged";

export const VIDEO_OR_CHANNEL: Argument = {
  ...VIDEO,
  alone: ONE_CHAT,
  meaning: "the video's id or URL; or a channel, for one stream after the other: @handle, id (UC…) or URL",
};

export const VIDEOS: Argument = {
  ...VIDEO,
  meaning: "the videos' ids or URLs; nothing if --all is given; with --follow, one video or channel",
  isRepeated: true,
  isOptional: true,
};

/** The token for commands that talk to a service. It is not a flag: other users of the machine see flags. */
const TOKEN_FLAGS = {
  RELAY_TOKEN: {
    ...optional("token of the service, for what it does not show to everybody", tokenText),
    isSecret: true,
    isOnlyVariable: true,
  },
  "token-file": optional(
    "file with a token of the service, in place of RELAY_TOKEN; it is read again before each request",
    (path) => path,
  ),
} satisfies FlagTable;

const SERVER = {
  RELAY_URL: {
    default: "http://127.0.0.1:8080",
    meaning: "base URL of the service",
    option: "server",
    read: serviceUrl,
  },
  ...TOKEN_FLAGS,
} satisfies FlagTable;

const since = optional(
  "resume after this cursor; 0 starts with the oldest stored message. The cursor of a channel is <video id>.<cursor>",
  place,
);
const types = optional(
  `comma-separated list of types and groups (${Object.keys(GROUPS).join(", ")})`,
  typesNamed,
  "all",
);
const color = {
  default: "auto",
  meaning: "auto, always or never; auto means on a terminal, unless NO_COLOR is set",
  read: oneOf(["auto", "always", "never"]),
};

export const WATCH_FLAGS = {
  ...SERVER,
  since,
  backfill: optional("number of recent messages to start with", whole(), "50; all of a replay"),
  types,
  json: toggle("print JSON lines: the cursor and the eight fields of each message"),
  details: toggle("with --json: add the details of each message"),
  wait: toggle("wait until the service runs and the chat begins"),
  color,
  post: optional(
    "send each message to this URL as JSON, in order, instead of printing it",
    httpUrl("an http or https URL without user and password", "username", "password"),
  ),
  "cursor-file": optional(
    "with --post: file that keeps the cursor for a restart",
    (path) => path,
    "<video id or channel>.cursor",
  ),
  RELAY_POST_SECRET: {
    ...optional(
      "with --post: secret that signs each message (Standard Webhooks). Other users of the machine can see a flag, but not the variable",
      (secret) => secret,
    ),
    isSecret: true as const,
  },
} satisfies FlagTable;

const TIME = "2026-11-20T20:00:00Z, or an age such as 90m, 2h or 3d";
const PLACE = "or, of a replay, a place in the video such as 1:02:03";

export const EXPORT_FLAGS = {
  ...SERVER,
  format: optional(
    `one of ${FORMAT_NAMES.join(", ")}`,
    oneOf<FormatName>(FORMAT_NAMES),
    "the extension of --output, else jsonl",
  ),
  output: optional(
    "file to write, or a folder for several videos; a file appears only when it is complete",
    (path) => path,
    "standard output",
  ),
  force: toggle("replace an existing file"),
  all: toggle("export all rooms of the service, instead of named videos"),
  append: toggle("continue an existing file after its last message"),
  follow: toggle("keep writing until the chat is over"),
  since,
  chat: optional(
    "which stored chat of the video, live or replay; by default the live one if it is stored",
    oneOf(CHATS),
  ),
  from: optional(`only messages stored at this time or later: a time such as ${TIME}`, storedTime),
  to: optional(`only messages stored before this time: a time such as ${TIME}`, storedTime),
  "said-from": optional(
    `only messages from the first one said at this time or later, by the chat's own time: a time such as ${TIME}; ${PLACE}`,
    saidTime,
  ),
  "said-to": optional("only messages before the first one said at this time or later", saidTime),
  q: optional("only messages whose text or author contains this", (words) => words),
  text: optional("only messages whose text contains this", (words) => words),
  author: optional("only messages of the author with this channel id", (id) => id),
  types,
  bom: toggle("CSV: begin with a byte order mark, which some spreadsheets need"),
  raw: toggle("CSV: leave texts unchanged that a spreadsheet would run as formulas"),
} satisfies FlagTable;

/** The flags of a command that prints one answer. */
export const ANSWER_FLAGS = {
  ...SERVER,
  json: toggle("print the service's answer as JSON"),
} satisfies FlagTable;

export const RECORD_FLAGS = {
  ...ANSWER_FLAGS,
  RELAY_ADMIN_TOKEN: {
    ...optional("the service's RELAY_ADMIN_TOKEN; prefer the variable to the flag", (token) => token),
    isSecret: true as const,
  },
} satisfies FlagTable;

/** `unset`: as in `Flag`. */
function optional<T>(meaning: string, read: (text: string) => T, unset?: string): Flag<T | undefined> {
  const readGiven = (text: string) => (text === "" ? undefined : read(text));
  return { default: "", meaning, read: readGiven, ...(unset !== undefined && { unset }) };
}

function place(text: string): Cursor {
  const cursor = parseCursor(text);
  if (cursor === undefined) throw new Error("a cursor: a whole number, or <video id>.<cursor> of a channel");
  return cursor;
}

function toggle(meaning: string): Flag<boolean> {
  return { default: "off", meaning, isSwitch: true, read: (text) => text === "on" };
}

/** When messages were stored, in milliseconds since 1970. */
function storedTime(text: string): number {
  return timeIn(text, "up", TIME);
}

/** When messages were said, in milliseconds since 1970; or a place in the video, as it is written. */
function saidTime(text: string): number | string {
  return parseVideoOffset(text) === undefined ? timeIn(text, "down", `${TIME}; ${PLACE}`) : text;
}

function timeIn(text: string, rounding: "up" | "down", examples: string): number {
  const age = durationIn(text);
  const ms = age === undefined ? parseTime(text, rounding) : Date.now() - age;
  if (ms === undefined) throw new Error(`a time with a zone, such as ${examples}`);
  return ms;
}

/** Refuses a name that is neither a type nor a group: what it was meant to select would be missing. */
function typesNamed(text: string): MessageType[] {
  return text.split(",").flatMap((part) => {
    const name = part.trim();
    const types = typesOf(name);
    if (types.length > 0) return types;
    throw new EntryError(name, `neither a type nor a group of messages${suggestOrList(name, typeNames())}`);
  });
}
