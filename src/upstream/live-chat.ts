/**
 * A video's live chat as the rest of the service sees it: bootstrapped in the specification's steps, opened
 * anew when its token has expired, polled from batch to batch. Messages come out read; nothing here knows of
 * rooms or viewers.
 */
import type { Clock } from "../clock.ts";
import type { ChatType } from "../protocol/chat.ts";
import { RelayError } from "../protocol/errors.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Batch, Silence } from "./answer.ts";
import type { UpstreamCalls } from "./calls.ts";
import { BOOTSTRAP_PAIRS, type ChatCall, type ClientLabel, type Pair } from "./clients.ts";
import type { Turn } from "./egress/gate.ts";
import { UpstreamError } from "./errors.ts";
import { type ChatPage, readChatPage } from "./page/chat-page.ts";
import {
  type Credentials,
  credentialsInPage,
  credentialsInServiceWorker,
  credentialsInServiceWorkerData,
  type FoundCredentials,
} from "./page/credentials.ts";
import { type ReadActions, readActions } from "./readers/actions.ts";
import { NO_PANELS, type OpenPanels } from "./readers/panels.ts";

export interface ReadingSettings {
  /** All messages, or the upstream's selection. */
  chatView: "all" | "top";
  /** Zone of the computed time of live messages, an IANA name. */
  timezone: string;
}

/** What actions are to a room. */
export type Reading = Omit<ReadActions, "dropped">;

/** What a page of the chat gave; its messages are the page's own backlog. */
export interface OpenChat extends Reading {
  chatType: ChatType;
  credentials: Credentials;
  continuation: string;
}

/** A batch, read. */
export interface ChatBatch extends Omit<Batch, "actions">, Reading {
  /** How many raw actions the answer held. */
  actionCount: number;
}

/** A bootstrapped chat: the pair that works for it and the answer that proved it, which is its first batch. */
export interface Bootstrap {
  page: OpenChat;
  pair: Pair;
  first: ChatBatch;
}

export class LiveChat {
  readonly #calls: UpstreamCalls;
  readonly #settings: ReadingSettings;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;

  constructor(calls: UpstreamCalls, settings: ReadingSettings, clock: Clock, telemetry: Telemetry) {
    this.#calls = calls;
    this.#settings = settings;
    this.#clock = clock;
    this.#telemetry = telemetry;
  }

  /**
   * Finds the chat of a video and a client that can read it. Rejects with `RelayError` SW_JS_FAILED,
   * NO_LIVE_CHAT or NO_WORKING_CLIENT, and with `UpstreamError` "throttled", or "unusable" where no page could
   * be loaded.
   */
  async bootstrap(videoId: string, turn: Turn): Promise<Bootstrap> {
    const page = await this.open(videoId, turn);
    const failures: string[] = [];
    for (const pair of BOOTSTRAP_PAIRS) {
      try {
        const first = await this.poll({ pair, ...startOf(page) }, turn, page.panels);
        // [spec] Stop at the first combination returning a parseable response
        if (first.kind === "batch") return { page, pair, first };
        failures.push(`${pair.client} ${pair.endpoint}: an answer without chat`);
      } catch (error) {
        if (!(error instanceof UpstreamError) || error.fault === "throttled") throw error;
        failures.push(`${pair.client} ${pair.endpoint}: ${error.message}`);
      }
    }
    throw new RelayError("NO_WORKING_CLIENT", `No client could read this chat (${failures.join("; ")}).`);
  }

  /**
   * Reads credentials and the chat page anew: the first half of a bootstrap, and all of a re-bootstrap, for
   * which `known` holds the credentials and the open polls so far. Rejects as `bootstrap` does; a re-bootstrap with
   * `UpstreamError` "unusable" too where a page is none of a video.
   */
  async open(
    videoId: string,
    turn: Turn,
    known?: { credentials: Credentials; panels: OpenPanels },
  ): Promise<OpenChat> {
    const script = await this.#scriptCredentials(turn);
    const pages = await this.#chatPages(videoId, turn);
    const credentials = complete({ ...known?.credentials, ...pages.credentials, ...script });
    if (!credentials) {
      const why = pages.failure ? ` The last attempt failed: ${pages.failure.message}.` : "";
      throw new RelayError(
        "SW_JS_FAILED",
        `Neither sw.js nor its stand-ins (sw.js_data, the chat page) gave an API key and a client version.${why}`,
      );
    }
    if (pages.failure) throw pages.failure;
    if (!pages.page?.chat) {
      const { why = "unavailable", hasData = false } = pages.page ?? {};
      // A chat that was there is not gone because something else came in place of its page.
      if (known && !hasData) throw new UpstreamError("unusable", why);
      throw new RelayError("NO_LIVE_CHAT", `No live chat found: ${why}`);
    }
    const { chatType, continuation, actions } = pages.page.chat;
    return { chatType, continuation, credentials, ...this.#read(actions, known?.panels) };
  }

  /**
   * What the chat's page shows just now, nothing where it shows no chat; `panels` are the polls open before it.
   * Rejects with `UpstreamError` where no page could be loaded.
   */
  async backlog(videoId: string, turn: Turn, panels: OpenPanels): Promise<Reading> {
    const { page, failure } = await this.#chatPages(videoId, turn);
    if (failure && !page) throw failure;
    return this.#read(page?.chat?.actions ?? [], panels);
  }

  /** The base URL of the host that a client talks to. */
  hostOf(client: ClientLabel): string {
    return this.#calls.hostOf(client);
  }

  /** Milliseconds that the upstream's throttling still lasts. */
  get cooldownLeftMs(): number {
    return this.#calls.cooldownLeftMs;
  }

  /** One batch, `panels` being the polls open before it. Rejects with `UpstreamError` of any fault. */
  async poll(call: ChatCall, turn: Turn, panels?: OpenPanels): Promise<ChatBatch | Silence> {
    const answer = await this.#calls.chat(call, turn);
    if (answer.kind === "silence") return answer;
    const { actions, ...batch } = answer;
    return { ...batch, ...this.#read(actions, panels), actionCount: actions.length };
  }

  #read(actions: readonly unknown[], panels = NO_PANELS): Reading {
    const { dropped, ...reading } = readActions(actions, {
      receivedAt: this.#clock.now(),
      timezone: this.#settings.timezone,
      panels,
    });
    this.#telemetry.actionsDropped(dropped);
    return reading;
  }

  /** What `sw.js` gives and, for what is missing, `sw.js_data`. Only throttling is an error here. */
  async #scriptCredentials(turn: Turn): Promise<FoundCredentials> {
    const found = credentialsInServiceWorker(await this.#textOf("/sw.js", turn));
    if (complete(found)) return found;
    return { ...credentialsInServiceWorkerData(await this.#textOf("/sw.js_data", turn)), ...found };
  }

  async #textOf(path: string, turn: Turn): Promise<string> {
    try {
      return await this.#calls.page(path, turn);
    } catch (error) {
      if (error instanceof UpstreamError && error.fault !== "throttled") return "";
      throw error;
    }
  }

  /** The popout page, else the watch page: the first that holds a chat, and the credentials seen on the way. */
  async #chatPages(
    videoId: string,
    turn: Turn,
  ): Promise<{ page?: ChatPage; credentials: FoundCredentials; failure?: UpstreamError }> {
    let page: ChatPage | undefined;
    let failure: UpstreamError | undefined;
    let credentials: FoundCredentials = {};
    for (const path of [`/live_chat?is_popout=1&v=${videoId}&hl=en`, `/watch?v=${videoId}&hl=en`]) {
      try {
        const html = await this.#calls.page(path, turn);
        page = readChatPage(html, videoId, this.#settings.chatView);
        credentials = { ...credentials, ...credentialsInPage(html) };
        if (page.chat) break;
      } catch (error) {
        if (!(error instanceof UpstreamError) || error.fault === "throttled") throw error;
        failure = error;
      }
    }
    if (page) return { page, credentials };
    return { credentials, ...(failure ? { failure } : {}) };
  }
}

/** A replay is read from its beginning; a live chat goes on from where its token stands. */
export function startOf({ chatType, credentials, continuation }: OpenChat): Omit<ChatCall, "pair"> {
  return {
    credentials,
    continuation,
    ...(chatType === "liveChatReplayRenderer" ? { playerOffsetMs: 0 } : {}),
  };
}

function complete({ apiKey, clientVersion, ...rest }: FoundCredentials): Credentials | undefined {
  return apiKey === undefined || clientVersion === undefined ? undefined : { apiKey, clientVersion, ...rest };
}
