/**
 * Hostile content in impeccable HTTP: scripts, pages and answers that are too large, too deep, too many, in
 * the wrong bytes, or full of names that mean something to JavaScript.
 */
import type { JsonObject } from "../../simulator/plain-json.ts";
import type { HostileAnswer } from "./hostile-call.ts";

export const MEGABYTE = 1024 * 1024;
/** More than any bound allows, less than an answer may have. */
const MUCH = MEGABYTE / 2;
/** One more than the values of a JSON text that is parsed. */
export const TOO_MANY = 500_001;

/** The text again and again, this long in all. */
export function filled(text: string, length = MUCH): string {
  return text.repeat(Math.ceil(length / text.length)).slice(0, length);
}

/** Something that nests so deep, as JSON. */
export function nested(levels: number, opening = '{"a":', closing = "}"): string {
  return `${opening.repeat(levels)}1${closing.repeat(levels)}`;
}

/** An answer of just this. */
export function saying(body: string | Buffer, contentType = "text/html; charset=utf-8"): HostileAnswer {
  const bytes = Buffer.from(body);
  return (response) => response.writeHead(200, { "content-type": contentType }).end(bytes);
}

/** The upstream's own answer with a change. */
export function changed(change: (text: string) => string): HostileAnswer {
  return (response, real) => response.end(change(real().body));
}

/** The upstream's own answer to a chat call, its chat changed. */
export function withChat(change: (chat: JsonObject) => JsonObject): HostileAnswer {
  return changed((text) => {
    const body = JSON.parse(text);
    const contents = body.continuationContents;
    contents.liveChatContinuation = change(contents.liveChatContinuation);
    return JSON.stringify(body);
  });
}

/** The upstream's own answer with these actions; a string is JSON already. */
export function acting(...actions: readonly (unknown | string)[]): HostileAnswer {
  const texts = actions.map((action) => (typeof action === "string" ? action : JSON.stringify(action)));
  return changed((text) => {
    const body = JSON.parse(text);
    body.continuationContents.liveChatContinuation.actions = ["the actions"];
    return JSON.stringify(body).replace('"the actions"', () => texts.join());
  });
}

/** Members that pollute whatever copies them carelessly, in every object. */
export function polluted(json: string): string {
  const members = '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":1,';
  return json.replaceAll(/\{(?=")/g, () => `{${members}`);
}

const key = "AIzaSyMade-up-key";
const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, "utf16le");

/** Scripts without credentials. */
export const SCRIPTS: Readonly<Record<string, string | Buffer>> = {
  "nothing but NULs": "\0".repeat(MUCH),
  "a key of a megabyte": `"INNERTUBE_API_KEY":"${filled("k", MEGABYTE)}"`,
  "a version of a megabyte": `"INNERTUBE_API_KEY":"${key}","INNERTUBE_CLIENT_VERSION":"${filled("1.", MEGABYTE)}"`,
  "a key of binary": `"INNERTUBE_API_KEY":"${"\u0001\u0080ÿ".repeat(10)}"`,
  "names without values": filled("INNERTUBE_API_KEY:"),
  "a name and spaces": `INNERTUBE_API_KEY ${filled(" ")}`,
  "values that never close": filled(`INNERTUBE_API_KEY:"INNERTUBE_API_KEY:'aaaaaaaaaaaa\\`),
  "values just too long": filled(`"INNERTUBE_API_KEY":"${"a".repeat(4097)}",`),
  "values of the wrong form": filled('"INNERTUBE_API_KEY":"!",'),
  "data that nests half a million deep": `)]}'\n${nested(TOO_MANY, "[", "]")}`,
  "data of half a million lists": `)]}'\n[${"[],".repeat(TOO_MANY)}1]`,
  "invalid UTF-8": Buffer.alloc(MEGABYTE, 0xff),
  "UTF-16": utf16(`"INNERTUBE_API_KEY":"${key}"`),
};

/** Pages that hold no chat, or none that can be used. */
export const PAGES: Readonly<Record<string, string | Buffer>> = {
  "nothing but NULs": "\0".repeat(MUCH),
  "braces alone": `ytInitialData = ${filled("{")}`,
  "data that nests ten thousand deep": `ytInitialData = {"contents":${nested(10_000)}};`,
  "data that nests half a million deep": `ytInitialData = {"contents":${nested(TOO_MANY, "[", "]")}};`,
  "half a million objects": `ytInitialData = {"contents":[${"{},".repeat(TOO_MANY)}{}]};`,
  "data that never closes": `ytInitialData = {"contents":"${filled("x")}`,
  "places for data without any": filled("ytInitialData = '{';", 2 * MUCH),
  "data within data": filled('ytInitialData = {"a":"'),
  "nothing but escapes": `ytInitialData = '${filled("\\x7b")}'`,
  "a token of a megabyte": pageOf(filled("A", MEGABYTE)),
  "a token of binary": pageOf("\u0000\u0001\u0080ÿ\ud800"),
  "invalid UTF-8": Buffer.alloc(MEGABYTE, 0xff),
  "UTF-16": utf16(pageOf("token")),
  "tags without end": filled("<title>"),
};

function pageOf(continuation: string): string {
  const liveChatRenderer = { continuations: [{ timedContinuationData: { continuation } }] };
  return `<script>var ytInitialData = ${JSON.stringify({ contents: { liveChatRenderer } })};</script>`;
}
