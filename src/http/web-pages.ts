/**
 * The pages for people, `/`, `/probe`, `/overlay` and `/overlay/setup`, the one that says that there is none,
 * and the files that they load. A file is read and compressed at its first request and then served from
 * memory.
 */
import { createHash } from "node:crypto";
import { extname } from "node:path";
import { gzipSync } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { isChannel } from "../protocol/channel.ts";
import { PICTURE_HOSTS } from "../protocol/picture-hosts.ts";
import { WATCH } from "../protocol/rights.ts";
import { homeFrom } from "./chat-links.ts";
import { nothingAt, pathOf } from "./error-answers.ts";
import { acceptsGzip, isKnown, varyBy } from "./negotiation.ts";
import { pageFiles } from "./page-files.ts";

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".js": "text/javascript; charset=utf-8",
};

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "object-src 'none'",
];
const PICTURES = `img-src 'self' data: ${PICTURE_HOSTS.join(" ")}`;

const STRICT = [PICTURES, "style-src 'self'", "require-trusted-types-for 'script'"];

/**
 * The pages by path, each with its file, its part of the content security policy, and the pages that may
 * embed it by default. The overlay has nothing to click.
 */
const PAGES = {
  "/": { file: "web/page/index.html", policy: STRICT, frameAncestors: "'self'" },
  "/probe": { file: "web/page/probe.html", policy: STRICT, frameAncestors: "'self'" },
  // Its preview is the overlay in a frame.
  "/overlay/setup": {
    file: "web/overlay/setup/index.html",
    policy: [...STRICT, "frame-src 'self'"],
    frameAncestors: "'self'",
  },
  // OBS and its forks inject the user's stylesheet as a `<style>` element, some through `innerHTML`, which
  // Trusted Types would refuse.
  "/overlay": {
    file: "web/overlay/index.html",
    // The user's stylesheet may load from other hosts; pictures.ts loads those of messages from the
    // upstream's alone.
    policy: [
      `${PICTURES} https:`,
      "style-src 'self' 'unsafe-inline' https:",
      "font-src 'self' https: data:",
      "media-src 'self' https: data:",
      "worker-src 'self'",
    ],
    frameAncestors: undefined,
  },
} as const;

const NOT_FOUND = { file: "web/page/not-found.html", policy: STRICT, frameAncestors: "'self'" };

interface StaticFile {
  type: string;
  body: Buffer;
  zipped: Buffer;
  etag: string;
}

export interface PageSettings {
  /** The video that an empty page offers when the service runs as the demo. */
  demoVideo?: string;
  /** The sources of `frame-ancestors` for all pages; undefined: the default of each page. */
  frameAncestors: string | undefined;
  /** How often a stream gets a keepalive. */
  keepaliveMs: number;
  /** The service's name, and the URL of a page about it; empty: none. */
  name: string;
  aboutUrl: string;
  /** The rights that need no token, as `rightIn` returns them. */
  access: { public: readonly string[] };
}

export function pageRoutes(app: FastifyInstance, settings: PageSettings): void {
  for (const [path, page] of Object.entries(PAGES)) {
    const html = once(() => toStatic(".html", filled(documentAt(page.file), settings)));
    const headers = headersOf(page, settings);
    app.get(path, (request, reply) => serve(html(), request, reply.headers(headers)));
    if (path !== "/") app.get(`${path}/`, (request, reply) => redirectToPage(path, request, reply));
  }
  // A route for each file would cost more than all other routes of the service.
  for (const url of ["/client.js", "/client-log.js", "/client-poll.js", "/client-history.js", "/web/*"])
    app.get(url, (request, reply) => {
      const path = pathOf(request);
      const file = files().get(path);
      if (!file) throw nothingAt(path);
      return serve(file(), request, reply);
    });
}

/** Answers a person who has asked for a path at which there is nothing. */
export function notFoundPage(settings: PageSettings): (request: FastifyRequest, reply: FastifyReply) => void {
  const html = once(() => documentAt(NOT_FOUND.file));
  const headers = headersOf(NOT_FOUND, settings);
  return ({ url }, reply) => {
    reply.code(404).headers({ ...headers, "x-content-type-options": "nosniff", "cache-control": "no-store" });
    reply.type(CONTENT_TYPES[".html"] ?? "").send(html().replaceAll('="./', `="${homeFrom(url)}`));
  };
}

interface Page {
  policy: readonly string[];
  frameAncestors: string | undefined;
}

function headersOf({ policy, frameAncestors }: Page, settings: PageSettings) {
  const ancestors = settings.frameAncestors ?? frameAncestors;
  const framing = ancestors === undefined ? [] : [`frame-ancestors ${ancestors}`];
  return {
    "content-security-policy": [...POLICY, ...policy, ...framing].join("; "),
    "referrer-policy": "no-referrer",
  };
}

/** The files but the documents, by path; services in one process share them. */
const files = once(() => {
  const own = [...pageFiles()].filter(([path]) => !path.endsWith(".html"));
  return new Map(own.map(([path, read]) => [`/${path}`, once(() => toStatic(extname(path), read()))]));
});

/** The text of a page's document. */
function documentAt(path: string): string {
  return pageFiles().get(path)?.() ?? "";
}

/**
 * The URLs in a page are relative to its path without a slash at the end. So is the redirection, because a
 * proxy may add a prefix.
 */
function redirectToPage(path: string, { raw }: FastifyRequest, reply: FastifyReply): FastifyReply {
  const query = /\?.*/s.exec(raw.url ?? "")?.[0] ?? "";
  return reply.redirect(`..${path.slice(path.lastIndexOf("/"))}${query}`, 308);
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** The document with the parts that depend on the settings of this service. */
function filled(html: string, { demoVideo = "", keepaliveMs, name, aboutUrl, access }: PageSettings): string {
  const shown = name === "" ? "Live chat" : escaped(name);
  const about =
    aboutUrl === "" ? shown : `<a href="${escaped(aboutUrl)}" rel="noopener noreferrer">${shown}</a>`;
  const chats = publicNames(access.public).map((each) => {
    const query = new URLSearchParams({ [isChannel(each) ? "channel" : "videoId"]: each });
    return `<a href="?${escaped(String(query).replaceAll("%40", "@"))}">${escaped(each)}</a>`;
  });
  return html
    .replace('name="demo-video" content=""', `name="demo-video" content="${demoVideo}"`)
    .replace('name="keepalive-ms" content=""', `name="keepalive-ms" content="${keepaliveMs}"`)
    .replace(/(?<=<title>)Live chat(?=<)/, () => shown)
    .replace(/(?<=id="about">)Live chat(?=<)/, () => about)
    .replace('<p data-part="chats" hidden></p>', (none) =>
      chats.length === 0 ? none : `<p data-part="chats">This service shows ${chats.join(", ")}.</p>`,
    );
}

/** The videos and channels that need no token; none if all chats or none are public. */
function publicNames(rights: readonly string[]): string[] {
  if (rights.includes("watch")) return [];
  return rights.filter((right) => right.startsWith(WATCH)).map((right) => right.slice(WATCH.length));
}

/** The text in a document or in an attribute. */
function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

function toStatic(extension: string, text: string): StaticFile {
  const body = Buffer.from(text);
  const hash = createHash("sha256").update(body).digest("base64url").slice(0, 22);
  const type = CONTENT_TYPES[extension] ?? "application/octet-stream";
  return { type, body, zipped: gzipSync(body, { level: 9 }), etag: `W/"${hash}"` };
}

function serve(file: StaticFile, { headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.headers({
    "cache-control": "no-cache", // OBS never refreshes stale files
    etag: file.etag,
    "x-content-type-options": "nosniff",
  });
  varyBy(reply, "Accept-Encoding");
  if (isKnown(file.etag, headers["if-none-match"])) return reply.code(304).send();
  reply.type(file.type);
  if (!acceptsGzip(headers["accept-encoding"]?.toString())) return reply.send(file.body);
  return reply.header("content-encoding", "gzip").send(file.zipped);
}
