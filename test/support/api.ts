/** The endpoints beside the stream as a caller uses them, and what every refusal of theirs must be. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import type { ErrorCode } from "../../src/protocol/errors.ts";
import type { Message } from "../../src/protocol/message.ts";
import type { TestRelay } from "./relay.ts";

export interface Answer<Body = unknown> {
  status: number;
  headers: Headers;
  body: Body;
}

export type SentMessage = Omit<Message, "details"> & { details?: Message["details"] };

export interface SessionBody {
  videoId: string;
  chatType: string;
  client: string;
  host: string;
  endpoint: string;
  apiKey: string;
  webVersion: string;
  token: string;
  timeoutMs: number;
  messages: SentMessage[];
}

export interface PollBody {
  token: string | null;
  timeoutMs: number;
  messages: SentMessage[];
}

export interface ProbeBody {
  videoId: string;
  rows: { label: string; endpoint: string; ok: boolean; actions: number; error: string | null }[];
}

/** The request's answer, its body read as JSON. */
export async function ask<Body = unknown>(
  base: string,
  path: string,
  init?: RequestInit,
): Promise<Answer<Body>> {
  const response = await fetch(base + path, init);
  const { status, headers } = response;
  return { status, headers, body: (await response.json()) as Body };
}

export function post<Body = unknown>(
  base: string,
  path: string,
  body: unknown,
  signal?: AbortSignal,
): Promise<Answer<Body>> {
  const headers = { "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  return ask(base, path, signal ? { ...init, signal } : init);
}

/** A session that must succeed. */
export async function session(base: string, body: object): Promise<SessionBody> {
  const answer = await post<SessionBody>(base, "/v1/sessions", body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

/** The body of a poll that continues a session. */
export function pollOf({ token, client, endpoint, apiKey, webVersion }: SessionBody) {
  return { token, client, endpoint, apiKey, webVersion };
}

/**
 * The answer to bytes sent as they are, over a connection of their own; both halves stay open until it has
 * come.
 */
export async function askRaw(base: string, bytes: string | Buffer): Promise<Answer> {
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  const received = await text(socket);
  const [head = "", ...rest] = received.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
  const headers = new Headers(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }),
  );
  const content = rest.join("\r\n\r\n");
  return { status, headers, body: content === "" ? undefined : JSON.parse(content) };
}

/**
 * Asserts that the answer is this error in the one JSON shape, open to any origin and kept by no cache, and
 * that its message holds no credential and no stack. Gives the message.
 */
export function assertRefused(
  answer: Answer,
  status: number,
  code: ErrorCode,
  upstream?: TestRelay["upstream"],
): string {
  const { headers } = answer;
  const body = answer.body as { code: string; message: string };
  assert.deepEqual([answer.status, body.code], [status, code], JSON.stringify(body));
  assert.deepEqual(Object.keys(body), ["code", "message"]);
  assert.match(headers.get("content-type") ?? "", /^application\/json/);
  assert.equal(headers.get("access-control-allow-origin"), "*");
  assert.equal(headers.get("cache-control"), "no-store");
  assert.ok(body.message.length > 10, body.message);
  assert.doesNotMatch(body.message, /\bat \S+ \(|node:|\.ts\b/, "a stack");
  assert.doesNotMatch(body.message, /\.[.;)]/, "a full stop within the sentence");
  for (const secret of upstream ? secretsOf(upstream) : []) {
    assert.ok(!body.message.includes(secret), `the message contains a credential: ${body.message}`);
  }
  return body.message;
}

/** Asserts that there is no room, and that none ever stored a message. */
export async function assertNothingKept({ url }: TestRelay): Promise<void> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  for (const [, count] of metrics.matchAll(/^relay_rooms\{.*\} (\d+)$/gm)) assert.equal(count, "0");
  assert.doesNotMatch(metrics, /^relay_messages_total\{.*\} [1-9]/m);
}

/**
 * Everything that no error or log may contain: the upstream's key and visitor, and every token seen so far.
 */
export function secretsOf({ credentials, requests }: TestRelay["upstream"]): string[] {
  const tokens = requests.flatMap(({ continuation }) => continuation ?? []).filter((t) => t.length > 8);
  return [credentials.apiKey, credentials.visitorData, ...tokens];
}
