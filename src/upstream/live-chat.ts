/**
 * A video's live chat as the rest of the service sees it: bootstrapped in the specification's steps, opened
 * anew when its token has expired, polled from batch to batch. Messages come out read; nothing here knows of
 * rooms or viewers.
 */
import type { Clock } from "../clock.ts";
import { RelayError } from "../protocol/errors.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Silence } from "./answer.ts";
import type { UpstreamCalls } from "./calls.ts";
import { BOOTSTRAP_PAIRS, type ClientLabel } from "./clients.ts";
import { UpstreamError } from "./errors.ts";
import type { CallOptions } from "./flights.ts";
import { type ChatPage, readChatPage } from "./page/chat-page.ts";
import {
  type Credentials,
  credentialsInPage,
  credentialsInServiceWorker,
  credentialsInServiceWorkerData,
  type FoundCredentials,
} from "./page/credentials.ts";
import { type LoadPage, pageLoads } from "./page-loads.ts";
import type { Position } from "./position.ts";
import { type Reading, readActions } from "./readers/actions.ts";
import type { OpenPanels } from "./readers/panels.ts";
import type { Item } from "./readers/reader.ts";

export interface ReadingSettings {
  /** All messages, or the upstream's selection. */
  chatView: "all" | "top";
  /** Zone of the computed time of live messages, an IANA name. */
  timezone: string;
}

/** What the chat's page shows: its own backlog, and the position from which the chat is read on. */
export interface Page {
  items: readonly Item[];
  position: Position;
}

/** One answer to a poll. */
export interface Batch {
  kind: "batch";
  items: readonly Item[];
  /** Where to go on; its continuation is null where the chat is over. */
  position: Position;
  /** The wait that the upstream asks for; undefined where it names none. */
  timeoutMs: number | undefined;
  /** How many raw actions the answer held. */
  actionCount: number;
}

/** A chat before a client and an endpoint that read it are known. */
export interface OpenChat {
  items: readonly Item[];
  start: Omit<Position, "pair">;
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
   * Finds the chat of a video and a client that can read it: the page, and the answer that proved its pair. Rejects
   * with `RelayError` SW_JS_FAILED, NO_LIVE_CHAT (with a cause where no page of the video was seen) or
   * NO_WORKING_CLIENT, and with `UpstreamError` "throttled", or "unusable" where no page could be loaded.
   */
  async bootstrap(videoId: string, options: CallOptions): Promise<{ page: Page; first: Batch }> {
    const { items, start } = await this.open(videoId, options);
    const failures: string[] = [];
    for (const pair of BOOTSTRAP_PAIRS) {
      const position = { ...start, pair };
      try {
        const first = await this.poll(position, options);
        // [spec] Stop at the first combination returning a parseable response
        if (first.kind === "batch") return { page: { items, position }, first };
        failures.push(`${pair.client} ${pair.endpoint}: an answer without chat`);
      } catch (error) {
        if (!(error instanceof UpstreamError) || error.fault === "throttled") throw error;
        // The other pairs talk to the same host.
        if (error.unreachable === "no connection") {
          throw new RelayError("NO_WORKING_CLIENT", `${error.message}.`, { cause: error });
        }
        failures.push(`${pair.client} ${pair.endpoint}: ${error.message}`);
      }
    }
    throw new RelayError("NO_WORKING_CLIENT", `No client could read this chat (${failures.join("; ")}).`);
  }

  /**
   * Reads credentials and page of a chat anew; its pair stays. Rejects as `open` does, and with `UpstreamError`
   * "unusable" where the page is not one of a video.
   */
  async reopen(videoId: string, known: Position, options: CallOptions): Promise<Page> {
    const { items, start } = await this.open(videoId, options, known);
    const { playerOffsetMs: _, ...position } = { ...start, pair: known.pair };
    return { items, position };
  }

  /** The first half of a bootstrap. `known`: of a chat that was read before. Rejects as `bootstrap` does. */
  async open(videoId: string, options: CallOptions, known?: Position): Promise<OpenChat> {
    const load = pageLoads(this.#calls, options);
    const script = await scriptCredentials(load);
    const pages = await this.#chatPages(videoId, load);
    const credentials = toCredentials({ ...known?.credentials, ...pages.credentials, ...script });
    if (!credentials) throw noCredentials(pages.failure);
    const { page, failure } = pages;
    if (!page) throw failure;
    if (!page.chat) {
      // What came in place of a page of the video says nothing about its chat.
      const cause = page.hasData ? undefined : new UpstreamError("unusable", page.why);
      if (known && cause) throw cause;
      throw new RelayError("NO_LIVE_CHAT", `No live chat found: ${page.why}`, { cause });
    }
    const { chatType, continuation, actions } = page.chat;
    const { items, panels } = this.#read(actions, known?.panels);
    // A replay is read from its beginning; a live chat goes on from where its token stands.
    const from = chatType === "liveChatReplayRenderer" ? { playerOffsetMs: 0 } : {};
    return { items, start: { chatType, continuation, credentials, panels, ...from } };
  }

  /**
   * What the chat's page shows just now, nothing where it shows no chat. The position stays but for the polls that
   * the page shows. Rejects with `UpstreamError` where no page could be loaded.
   */
  async backlog(videoId: string, position: Position, options: CallOptions): Promise<Page> {
    const { page, failure } = await this.#chatPages(videoId, pageLoads(this.#calls, options));
    if (failure) throw failure;
    const { items, panels } = this.#read(page?.chat?.actions ?? [], position.panels);
    return { items, position: { ...position, panels } };
  }

  /** The base URL of the host that a client talks to. */
  hostOf(client: ClientLabel): string {
    return this.#calls.hostOf(client);
  }

  /** Milliseconds that the upstream's throttling still lasts. */
  get cooldownLeftMs(): number {
    return this.#calls.cooldownLeftMs;
  }

  /** The next answer of a chat that is not over. Rejects with `UpstreamError` of any fault. */
  async poll(asked: Position, options: CallOptions): Promise<Batch | Silence> {
    const { playerOffsetMs: _, ...position } = asked;
    const { continuation } = position;
    if (continuation === null) throw new Error("a chat that is over has no next answer");
    const answer = await this.#calls.chat({ ...asked, continuation }, options);
    if (answer.kind === "silence") return answer;
    const { items, panels } = this.#read(answer.actions, position.panels);
    return {
      kind: "batch",
      items,
      position: { ...position, continuation: answer.continuation ?? null, panels },
      timeoutMs: answer.timeoutMs,
      actionCount: answer.actions.length,
    };
  }

  #read(actions: readonly unknown[], panels?: OpenPanels): Pick<Reading, "items" | "panels"> {
    const { dropped, bugs, ...reading } = readActions(actions, {
      receivedAt: this.#clock.now(),
      timezone: this.#settings.timezone,
      panels,
    });
    this.#telemetry.actionsDropped(dropped);
    for (const bug of bugs) this.#telemetry.readerFailed(bug);
    return reading;
  }

  /** The popout page, else the watch page: the first that holds a chat, and the credentials seen on the way. */
  async #chatPages(
    videoId: string,
    load: LoadPage,
  ): Promise<{ page?: ChatPage; credentials: FoundCredentials; failure?: UpstreamError | undefined }> {
    let page: ChatPage | undefined;
    let failure: UpstreamError | undefined;
    let credentials: FoundCredentials = {};
    for (const path of [`/live_chat?is_popout=1&v=${videoId}&hl=en`, `/watch?v=${videoId}&hl=en`]) {
      try {
        const html = await load(path);
        page = readChatPage(html, videoId, this.#settings.chatView);
        credentials = { ...credentials, ...credentialsInPage(html) };
        if (page.chat) break;
      } catch (error) {
        if (!(error instanceof UpstreamError) || error.fault === "throttled") throw error;
        if (error.unreachable === "no connection") throw error;
        failure = error;
      }
    }
    return page ? { page, credentials } : { credentials, failure };
  }
}

/** What `sw.js` gives and, for what is missing, `sw.js_data`. Only throttling and an unreachable host are errors here. */
async function scriptCredentials(load: LoadPage): Promise<FoundCredentials> {
  const found = credentialsInServiceWorker(await scriptText(load, "/sw.js"));
  if (toCredentials(found)) return found;
  return { ...credentialsInServiceWorkerData(await scriptText(load, "/sw.js_data")), ...found };
}

async function scriptText(load: LoadPage, path: string): Promise<string> {
  try {
    return await load(path);
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.fault === "throttled") throw error;
    if (error.unreachable === "no connection") throw noCredentials(error);
    return "";
  }
}

function noCredentials(lastFailure?: UpstreamError): RelayError {
  if (lastFailure?.unreachable) {
    return new RelayError("SW_JS_FAILED", `${lastFailure.message}.`, { cause: lastFailure });
  }
  const why = lastFailure ? ` The last attempt failed: ${lastFailure.message}.` : "";
  return new RelayError(
    "SW_JS_FAILED",
    `Neither sw.js nor its stand-ins (sw.js_data, the chat page) gave an API key and a client version.${why}`,
  );
}

function toCredentials({ apiKey, clientVersion, ...rest }: FoundCredentials): Credentials | undefined {
  return apiKey === undefined || clientVersion === undefined ? undefined : { apiKey, clientVersion, ...rest };
}
