/**
 * Continuation tokens. Each is a protobuf message in url-safe base64 with the layout of the real ones,
 * including the nested message that names the video, and each is unique. The book holds the valid ones.
 * Spent, revoked and invented tokens are refused alike.
 */
import type { Random } from "./random.ts";

/** The rights of a token. */
export interface Grant {
  videoId: string;
  kind: "live" | "replay";
  /** The selection that it reads: `top` omits actions as the chat's scenario says, `all` omits none. */
  view: "top" | "all";
  /** The reader's position in the chat; infinite after the end. */
  position: number;
  /** Reads from the time that the request names, like the token for seeking. */
  seeks?: boolean;
  /** Its answer begins with a live chat's backlog, however old: this many actions when it was made. */
  reloads?: number;
  /** A page's own token: its answer, and no later one, carries the menu with tokens of both views. */
  isOfPage?: boolean;
  /** Never brings actions, and neither do its successors. */
  isMute?: boolean;
  /** When the page was made that gave it, on the monotonic clock in milliseconds. */
  shownAt?: number;
}

type Field = readonly [number: number, value: number | bigint | string | Buffer | readonly Field[]];

/** The outer field, and the field with the view, by kind. */
const LAYOUTS = { live: { root: 119_693_434, view: 16 }, replay: { root: 156_074_452, view: 14 } } as const;
/** The field with the time at which the token was made. */
const MADE_AT = 20;
const VIEW_FLAGS = { top: 4, all: 1 } as const;

/**
 * Maximum number of valid tokens; above it the oldest are forgotten, because pages give out more than are
 * ever used.
 */
const MAX_TOKENS = 100_000;

export class TokenBook {
  readonly #random: Random;
  readonly #good = new Map<string, Grant>();
  #minted = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** A new valid token. `nowMs` is wall time. */
  mint(grant: Grant, channelId: string, nowMs: number): string {
    this.#minted += 1;
    const usec = BigInt(Math.trunc(nowMs)) * 1000n + BigInt(this.#minted);
    const token = escapePadding(base64(encode(layout(grant, channelId, usec, this.#random.bytes(12)))));
    this.admit(token, grant);
    return token;
  }

  /** Makes any token valid: one from a captured page, or one whose use had no effect. */
  admit(token: string, grant: Grant): void {
    this.#good.delete(token);
    this.#good.set(token, grant);
    if (this.#good.size <= MAX_TOKENS) return;
    for (const oldest of this.#good.keys()) {
      this.#good.delete(oldest);
      return;
    }
  }

  find(token: string): Grant | undefined {
    return this.#good.get(token);
  }

  spend(token: string): void {
    this.#good.delete(token);
  }

  /** Refuses every token of the video from now on. */
  revoke(videoId: string): void {
    for (const [token, grant] of this.#good) if (grant.videoId === videoId) this.#good.delete(token);
  }
}

/** The short token in a watch page's view menu: it names no video and is always refused. */
export function deadToken(kind: Grant["kind"], view: Grant["view"]): string {
  const { root, view: viewField } = LAYOUTS[kind];
  const choice: Field[] = [
    [1, VIEW_FLAGS[view]],
    [3, 0],
    [4, 0],
    [5, 1],
  ];
  const inner: Field[] = [
    [3, ""],
    [6, 1],
    [viewField, choice],
    [21, 1],
  ];
  return base64(encode([[root, inner]]));
}

/** The video that a token names, valid or not. */
export function videoIdIn(token: string): string | undefined {
  const root = decode(fromBase64(token));
  const inner = root.get(LAYOUTS.live.root) ?? root.get(LAYOUTS.replay.root);
  const named = inner && decode(inner).get(3);
  if (!named) return undefined;
  return /\v([\w-]{11})/.exec(fromBase64(named.toString("latin1")).toString("latin1"))?.[1];
}

/** The view that a token reads, valid or not. */
export function viewIn(token: string): Grant["view"] | undefined {
  const root = decode(fromBase64(token));
  const [live, replay] = [root.get(LAYOUTS.live.root), root.get(LAYOUTS.replay.root)];
  const choice = live
    ? decode(live).get(LAYOUTS.live.view)
    : replay && decode(replay).get(LAYOUTS.replay.view);
  const flag = choice?.[1];
  return (["top", "all"] as const).find((view) => VIEW_FLAGS[view] === flag);
}

/** When a token was made, in microseconds since 1970; undefined if it does not say so. */
export function madeAt(token: string): number | undefined {
  const root = decode(fromBase64(token));
  const inner = root.get(LAYOUTS.live.root) ?? root.get(LAYOUTS.replay.root);
  const usec = inner && decode(inner).get(MADE_AT);
  return usec?.reduceRight((value, byte) => value * 128 + (byte & 127), 0);
}

function layout(grant: Grant, channelId: string, usec: bigint, nonce: Buffer): Field[] {
  const { root, view } = LAYOUTS[grant.kind];
  const target: Field[] = [
    [
      1,
      [
        [
          5,
          [
            [1, channelId],
            [2, grant.videoId],
          ],
        ],
      ],
    ],
    [3, [[48_687_757, [[1, grant.videoId]]]]],
    [4, 1],
    [6, 0],
  ];
  const position = Number.isFinite(grant.position) ? BigInt(Math.max(0, grant.position)) : 0n;
  return [
    [
      root,
      [
        [3, escapePadding(base64(encode(target)))],
        [5, grant.kind === "live" ? usec : position],
        [6, 0],
        [8, 1],
        [
          view,
          [
            [1, VIEW_FLAGS[grant.view]],
            [3, 2],
            [4, 0],
          ],
        ],
        [MADE_AT, usec],
        [23, nonce],
      ],
    ],
  ];
}

function encode(fields: readonly Field[]): Buffer {
  const parts: Buffer[] = [];
  for (const [number, value] of fields) {
    if (typeof value === "number" || typeof value === "bigint") {
      parts.push(varint(BigInt(number) << 3n), varint(BigInt(value)));
      continue;
    }
    const bytes = Buffer.isBuffer(value)
      ? value
      : typeof value === "string"
        ? Buffer.from(value)
        : encode(value);
    parts.push(varint((BigInt(number) << 3n) | 2n), varint(BigInt(bytes.length)), bytes);
  }
  return Buffer.concat(parts);
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

/** The bytes of the fields of a message; stops silently at bytes that are not a message. */
function decode(bytes: Buffer): Map<number, Buffer> {
  const fields = new Map<number, Buffer>();
  let offset = 0;
  const read = (): number => {
    let value = 0;
    for (let scale = 1; offset < bytes.length; scale *= 128) {
      const byte = bytes[offset] ?? 0;
      offset += 1;
      value += (byte & 127) * scale;
      if (byte < 128) break;
    }
    return value;
  };
  while (offset < bytes.length) {
    const tag = read();
    const from = offset;
    const size = read();
    if (tag % 8 !== 0 && tag % 8 !== 2) break;
    const isNumber = tag % 8 === 0;
    const [start, end] = isNumber ? [from, offset] : [offset, offset + size];
    fields.set(Math.floor(tag / 8), bytes.subarray(start, end));
    offset = end;
  }
  return fields;
}

function base64(bytes: Buffer): string {
  return bytes.toString("base64").replaceAll("+", "-").replaceAll("/", "_");
}

function fromBase64(text: string): Buffer {
  return Buffer.from(text.replaceAll("%3D", ""), "base64url");
}

function escapePadding(text: string): string {
  return text.replaceAll("=", "%3D");
}
