/**
 * Strangers that flood the service for the whole of a run: openings of made-up ids and channels, sessions,
 * refused tokens, and pages, events and downloads that they give up. Each request has another value of
 * whatever a client chooses. Other connections ask nothing. Meanwhile the service records a chat without
 * viewers, and the recording must lose nothing, whatever strangers and events do.
 */
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { DatabaseSync } from "node:sqlite";
import type { Simulator } from "../../simulator/index.ts";
import { Random } from "../../simulator/random.ts";
import type { Chat } from "../../simulator/simulated-chat.ts";
import { bearer, SECRET, signedAtOnce } from "../support/tokens.ts";
import { PAGE } from "./chat-script.ts";
import type { Verdict } from "./verdict.ts";
import type { World } from "./world.ts";

const RECORDED = "chaos-rec01";
/** What the service is set to for them. */
export const SETTINGS_WITH_STRANGERS = { RELAY_RECORD: RECORDED, RELAY_TOKEN_KEY: SECRET };
const MADE_UP = "nobody-";
/** A chat that strangers keep open. */
const THEIRS = `${MADE_UP}live`;
/** A chat of which they drive the polling themselves: no room of it is polled. */
const DRIVEN = `${MADE_UP}poll`;
const PER_SECOND = 5;
/**
 * They come from a few addresses, as videos are opened in turns of addresses: from many, a flood would delay
 * the viewers of a run, who have one.
 */
const ADDRESSES = 3;
const MAX_PAUSE_MS = 200;
/**
 * The time between two openings, of all strangers. An opening goes on when its stranger has left, and the
 * polls of a run leave few calls: faster openings would leave none to its replays, and delay its viewers.
 */
const OPENING_MS = 2000;
const MAX_PATIENCE_MS = 3000;
/** What clients may count on of the service, whatever they ask. */
const FAILED = 500;
/** A recording that was refused, for whatever reason, tries again after a minute. */
const CAUGHT_UP_MS = 100_000;

/** Whether no viewer of a run asks for the video. */
export function isOfStrangers(videoId: string | undefined): boolean {
  return videoId === RECORDED || (videoId?.startsWith(MADE_UP) ?? false);
}

/** A request; one without a path is a connection that asks nothing. */
interface Wish {
  what: string;
  path?: string;
  /** A token that must be refused. */
  token?: string;
  /** The body of a POST. */
  body?: string;
}

interface StrangersParts {
  count: number;
  seed: number;
  upstream: Simulator;
  verdict: Verdict;
  /** The service's port. */
  port: number;
}

export class Strangers implements Disposable {
  readonly #parts: StrangersParts;
  readonly #chat: Chat;
  readonly #traffic: { stop(): void };
  readonly #over = new AbortController();
  #openedAt = Number.NEGATIVE_INFINITY;
  readonly #agents = Array.from(
    { length: ADDRESSES },
    (_, index) => new Agent({ keepAlive: true, localAddress: `127.0.0.${2 + index}` }),
  );

  constructor(parts: StrangersParts) {
    this.#parts = parts;
    this.#chat = parts.upstream.chat(RECORDED, { ...PAGE, kinds: ["text"] });
    this.#traffic = this.#chat.speak(PER_SECOND);
    for (const videoId of [THEIRS, DRIVEN])
      parts.upstream.chat(videoId, { ...PAGE, kinds: ["text"], timeoutMs: 1000 }).say(1);
  }

  /** They come, until they are disposed of. */
  come(): void {
    for (let number = 0; number < this.#parts.count; number++) void this.#flood(number);
  }

  /** They go, and nothing more is said in the recorded chat: all of it must then be stored. */
  async go(world: World): Promise<void> {
    this[Symbol.dispose]();
    const lacking = () => this.#lacking(world.disk.path);
    await world.until(
      () => lacking() === undefined,
      () => `the recording, which lacks ${lacking()}`,
      { maxMs: CAUGHT_UP_MS },
    );
  }

  [Symbol.dispose](): void {
    this.#traffic.stop();
    this.#over.abort();
    for (const agent of this.#agents) agent.destroy();
  }

  /** Why the recording is not complete in the store's file; undefined if it is. */
  #lacking(path: string): string | undefined {
    using database = new DatabaseSync(path, { readOnly: true });
    const rows = database
      .prepare("select body from message join room on room.key = message.room where video_id = ?")
      .all(RECORDED);
    const stored = new Set(rows.map(({ body }) => JSON.parse(String(body)).id));
    const lost = this.#chat.ledger.filter(({ says }) => says && !stored.has(says.id));
    const gaps = [...stored].filter((id) => id.startsWith("gap:")).length;
    this.#parts.verdict.counts.set("messages recorded beside strangers", stored.size);
    this.#parts.verdict.counts.set("gaps recorded beside strangers", gaps);
    return lost.length === 0 ? undefined : `${lost.length} of ${this.#chat.ledger.length} messages`;
  }

  async #flood(number: number): Promise<void> {
    const { seed, verdict } = this.#parts;
    const random = new Random(seed, `stranger ${number}`);
    const agent = this.#agents[number % ADDRESSES];
    while (!this.#over.signal.aborted) {
      const { what, path, token, body } = random.pick(this.#wishes(random));
      const patience = AbortSignal.timeout(1 + random.below(MAX_PATIENCE_MS));
      const signal = AbortSignal.any([patience, this.#over.signal]);
      const headers = {
        ...(random.next() < 0.5 && { "accept-encoding": "gzip" }),
        ...(token !== undefined && bearer(token)),
        ...(body !== undefined && { "content-type": "application/json" }),
      };
      const options = { path, headers, signal, method: body === undefined ? "GET" : "POST" };
      const status =
        path === undefined
          ? await this.#sayNothing(signal)
          : await this.#ask({ ...options, ...(agent && { agent }) }, body);
      verdict.count(`strangers: ${what}, ${status}`);
      if (status === FAILED) verdict.violate("health", `${what} of strangers are answered ${status}`);
      if (token !== undefined && status !== 401 && status !== "gone")
        verdict.violate("access", `a refused token is answered ${status}`);
      await new Promise((resolve) => setTimeout(resolve, random.below(MAX_PAUSE_MS)));
    }
  }

  /** What a stranger may do next. */
  #wishes(random: Random): readonly Wish[] {
    const n = random.below(1_000_000);
    const madeUp = MADE_UP + String(random.below(10_000)).padStart(4, "0");
    const forged = signedAtOnce(
      { exp: 2 ** 33, relay: ["record"] },
      "a secret of somebody else, thirty-two bytes",
    );
    if (this.#mayOpen())
      return [
        { what: "openings of made-up ids", path: `/v1/stream?videoId=${madeUp}` },
        { what: "long polls of made-up ids", path: `/v1/log/${madeUp}?offset=-1&live=long-poll` },
        { what: "openings of made-up channels", path: `/v1/stream?channel=@${madeUp}` },
        { what: "sessions", path: "/v1/sessions", body: JSON.stringify({ videoId: DRIVEN }) },
      ];
    const messages = `/v1/messages?videoId=${RECORDED}`;
    return [
      { what: "refused tokens", path: "/v1/recordings", token: forged },
      { what: "long polls", path: `/v1/log/${THEIRS}?offset=now&live=long-poll&cursor=${n}` },
      { what: "events", path: `/v1/log/${RECORDED}?offset=now&live=sse&cursor=${n}` },
      { what: "pages", path: `/v1/log/${RECORDED}?offset=-1&cursor=${n}` },
      { what: "stored parts", path: `/v1/stream?videoId=${RECORDED}&until=now&from=${Date.now() - n}` },
      { what: "downloads", path: `${messages}&limit=all&format=csv` },
      { what: "searches", path: `${messages}&q=word${n}` },
      { what: "connections that ask nothing" },
    ];
  }

  /** Whether it is time for an opening again. */
  #mayOpen(): boolean {
    const now = performance.now();
    const isDue = now - this.#openedAt >= OPENING_MS;
    if (isDue) this.#openedAt = now;
    return isDue;
  }

  /** The status of the answer; `gone` if none came while the stranger waited, or the service was down. */
  #ask(options: object, body: string | undefined): Promise<number | "gone"> {
    const { promise, resolve } = Promise.withResolvers<number | "gone">();
    const asked = request({ ...options, host: "127.0.0.1", port: this.#parts.port }, (answer) => {
      answer.on("error", () => {}).on("close", () => resolve(answer.statusCode ?? 0));
      answer.resume();
    });
    asked.on("error", () => resolve("gone")).end(body);
    return promise;
  }

  /** Opens a connection, and leaves it. */
  async #sayNothing(signal: AbortSignal): Promise<"gone"> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const socket = connect({ host: "127.0.0.1", port: this.#parts.port, signal });
    socket.on("error", () => {}).on("close", () => resolve());
    await promise;
    return "gone";
  }
}
