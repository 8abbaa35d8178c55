/** A room's history over HTTP: made-up messages in a store of the test's, and the service's answers. */
import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import type { Clock } from "../../src/base/clock.ts";
import type { SettingName } from "../../src/cli/setting-table.ts";
import { createServer, type HttpSettings } from "../../src/http/server.ts";
import type { Message } from "../../src/protocol/message.ts";
import { type EncodedMessage, encodeMessage } from "../../src/store/stored-message.ts";
import { type Answer, ask, type SentMessage } from "./api.ts";
import { roomsOn } from "./rooms-on.ts";
import { own } from "./store-reading.ts";
import { BORN_MS, type FullStore, openFor, ROOM, wallAt } from "./store-subject.ts";

export type KeptMessage = SentMessage & { cursor: number };

export interface Page {
  videoId: string;
  state: string;
  base: number;
  floor: number;
  head: number;
  messages: KeptMessage[];
  next: number | null;
  prev: number | null;
}

/** The channel id of an author. */
export const channel = (name: string) => `UC${name.padEnd(22, "_")}`;

/** A message as the service stores it; its id is `id`, its author's channel follows from the name. */
export function said(id: string | number, fields: Partial<Message> = {}): EncodedMessage {
  const { author = "@ines", message = `says ${id}`, details } = fields;
  return encodeMessage({
    type: "chat",
    id: String(id),
    timestamp: "9:05 PM",
    author,
    message,
    amount: "",
    color: "",
    parts: message === "" ? [] : [{ kind: "text", text: message }],
    ...fields,
    details: { authorId: channel(author.slice(1)), ...details },
  } as Message);
}

/** Messages 0, 1, 2 and so on. */
export const several = (count: number, from = 0): EncodedMessage[] =>
  Array.from({ length: count }, (_, n) => said(from + n));

export interface Served {
  url: string;
  upstream: Awaited<ReturnType<typeof roomsOn>>["upstream"];
  get<Body = Page>(
    query: Record<string, string | number>,
    headers?: Record<string, string>,
  ): Promise<Answer<Body>>;
  /** The number of open connections to the service. */
  connections(): Promise<number>;
  /** The body as text, unchanged. */
  text(query: Record<string, string | number>, headers?: Record<string, string>): Promise<string>;
}

/** Serves a store until the end of the test. */
export async function serve(
  t: TestContext,
  store: FullStore,
  settings: Partial<Record<SettingName, string>> = {},
  http: Partial<HttpSettings> = {},
  clock?: Clock,
): Promise<Served> {
  const parts = await roomsOn(store, settings, clock);
  const app = await createServer(parts, { ...parts.config.http, ...http });
  t.after(async () => {
    await app.close();
    await parts[Symbol.asyncDispose]();
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const pathOf = (query: Record<string, string | number>) =>
    `/v1/messages?${new URLSearchParams(Object.entries(query).map(([name, value]) => [name, `${value}`]))}`;
  const { upstream } = parts;
  return {
    url,
    upstream,
    connections: promisify(app.server.getConnections.bind(app.server)),
    get: (query, headers = {}) => ask(url, pathOf(query), { headers }),
    text: async (query, headers = {}) => {
      const response = await fetch(url + pathOf(query), { headers });
      assert.equal(response.status, 200);
      return Buffer.from(await response.arrayBuffer()).toString(); // with a byte order mark
    },
  };
}

/** The room's base. */
export const B = BORN_MS;

/** A service whose room holds these messages, with cursors from `B + 1`. */
export async function withRoom(
  t: TestContext,
  messages = several(10),
  settings = {},
  http: Partial<HttpSettings> = {},
  clock?: Clock,
) {
  const wall = wallAt(BORN_MS);
  const store = await openFor(t, "memory:", wall);
  const served = await serve(t, store, settings, http, clock); // before there is a room that it would adopt
  const claim = await own(store, ROOM);
  await store.append(claim, B, messages, "");
  return { ...served, store, wall, claim, path: `${served.url}/v1/messages?videoId=${ROOM}` };
}

/** The cursors of a page, counted from the room's base, and those of the pages beside it. */
export function placesOf({ status, body }: Answer<Page>) {
  assert.equal(status, 200, JSON.stringify(body));
  const places = body.messages.map(({ cursor }) => cursor - B);
  return [places, body.next && body.next - B, body.prev && body.prev - B];
}

/** The targets of the header `Link`, by relation. */
export function linksIn(headers: Headers): Record<string, string> {
  const links = [...(headers.get("link") ?? "").matchAll(/<([^>]*)>; rel="(\w+)"/g)];
  return Object.fromEntries(links.map(([, target = "", rel = ""]) => [rel, target]));
}
