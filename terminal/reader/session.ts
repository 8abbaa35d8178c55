/**
 * The common part of the commands that talk to a service: a signal ends them, the reader of their output may
 * leave, and each kind of end has its exit code.
 */
import { type ChannelChat, type Chat, ChatError, type ChatOptions, chat } from "../../client/index.ts";
import { certificateTrouble, withoutStop } from "../../src/base/error-message.ts";
import { COMMAND_NAME } from "../../src/base/own-files.ts";
import { cleanText } from "../../src/base/sanitised-text.ts";
import { EXIT, exitCodeOf } from "../../src/cli/exit-codes.ts";
import { ReaderLeft } from "../../src/cli/output.ts";
import type { ProcessIo } from "../../src/cli/process-io.ts";
import { stopSignals } from "../../src/cli/signals.ts";
import type { ReceivedMessage } from "../../src/serving/history/received-message.ts";
import { type Access, accessOf, type ServerValues } from "./sent-token.ts";
import { type Cursor, channelIn, newsOf } from "./subject.ts";

/** The maximum wait between attempts while there is no chat or no service yet. */
const MAX_WAIT_MS = 30_000;
const FIRST_WAIT_MS = 1000;

/** The error of a command that cannot continue. The message is one line. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Prints one line for the user on standard error, apart from the data. */
export type Notice = (text: string) => void;

/** A running command that talks to a service. */
export interface Session extends Access {
  io: ProcessIo;
  /** Aborts at SIGINT, SIGTERM or SIGHUP, with the signal's name as the reason. */
  stopped: AbortSignal;
  notice: Notice;
}

/**
 * Runs a command and resolves to its exit code; a later signal ends the process at once. Rejects with
 * `CommandError`, like `accessOf`, and like `work`.
 */
export async function runSession(
  values: ServerValues,
  io: ProcessIo,
  work: (session: Session) => Promise<number>,
): Promise<number> {
  const { stderr } = io;
  const access = await accessOf(values);
  using signals = stopSignals(io, exitCodeOf);
  const { stopped } = signals;
  stderr.on("error", () => {}); // the reader of standard error has left
  const notice = (text: string) => void stderr.write(`${COMMAND_NAME}: ${cleanText(text)}\n`);
  let code: number;
  try {
    code = await work({ ...access, io, stopped, notice });
  } catch (error) {
    if (stopped.aborted) code = exitCodeOf(stopped.reason);
    else if (error instanceof ReaderLeft) return 0;
    else throw error instanceof ChatError ? explained(error, access) : error;
  }
  // Lines for a reader that has stalled would keep the process alive.
  if (stopped.aborted) io.exit(code);
  return code;
}

/** The error as text, with the system's own text if the network failed. */
export function reasonOf(error: ChatError): string {
  const { code, message } = error;
  if (code !== "NETWORK" && code !== "HTTP") return `${code}: ${message}`;
  const detail = systemCode(error);
  const words = withoutStop(message);
  return detail ? `${words} (${detail})` : words;
}

/** The system's code of a failure of the network. */
function systemCode({ cause }: ChatError): string | undefined {
  const { cause: inner = cause } = (cause ?? {}) as { cause?: unknown };
  return ((inner ?? {}) as { code?: string }).code;
}

function explained(error: ChatError, { server, token }: Access): CommandError {
  const reason = cleanText(reasonOf(error));
  if (error.code === "HTTP")
    return new CommandError(
      EXIT.noService,
      `${server} answers ${error.status}, but not as a livechat-relay: check the URL; a proxy in front of it, or of an edge's origin, may block this path (as it should block /v1/rooms, /v1/probe and /v1/recordings), then use the service's or the origin's own address`,
    );
  if (error.code === "UNAUTHORIZED" && token === undefined)
    return new CommandError(
      EXIT.failed,
      `${reason} (here: set RELAY_TOKEN, or name a file with --token-file)`,
    );
  const { pathname } = new URL(server);
  if (error.code === "NOT_FOUND" && pathname !== "/")
    return new CommandError(
      EXIT.failed,
      `${reason} (here: is ${pathname}, the path in --server or RELAY_URL, right?)`,
    );
  if (error.code !== "NETWORK") return new CommandError(EXIT.failed, reason);
  const untrusted = certificateTrouble(systemCode(error));
  if (untrusted) return new CommandError(EXIT.noService, `${server} cannot be asked: ${untrusted}`);
  return new CommandError(
    EXIT.noService,
    `no service answers at ${server}: ${reason}; start one with "livechat-relay serve" (in a checkout: npm start), or name another with --server or RELAY_URL`,
  );
}

interface RoomOptions extends Pick<ChatOptions, "backfill" | "until" | "chat" | "details" | "types"> {
  /** The video or the channel, as the user named it. */
  name: string;
  /** One of this video or channel. */
  cursor: Cursor | undefined;
  signal: AbortSignal;
}

export type Room = Chat<ReceivedMessage, Cursor>;

/**
 * The chat; changes of its connection, and a channel's of its streams, are reported on standard error. Until
 * the first connection is open, every failure is final; with `wait`, a missing chat or service is not. Later
 * it reconnects for ever; only with `isEndless` also after a refusal.
 */
export function openChat(
  { server, token, notice }: Pick<Session, "server" | "token" | "notice">,
  {
    name,
    cursor,
    wait = false,
    isEndless = false,
    ...options
  }: RoomOptions & { wait?: boolean; isEndless?: boolean },
): Room {
  let wasOpen = false;
  let lastReason = "";
  const retry = (error: ChatError, attempt: number): number | false | undefined => {
    // Waiting helps if there is no chat or no service yet, or the service is temporarily unable to serve.
    const mayPass = error.code === "NO_LIVE_CHAT" || !error.isFinal;
    if (!wasOpen && !(wait && mayPass)) return false;
    if (error.status === undefined && error.code !== "NETWORK") return undefined; // the stream's last frame
    if (wasOpen && error.isFinal && !isEndless) return false;
    const reason = reasonOf(error);
    if (reason !== lastReason) notice(`${reason}; ${wasOpen ? "reconnecting" : "waiting"}`);
    lastReason = reason;
    return wasOpen && !error.isFinal ? undefined : Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt);
  };
  const channel = channelIn(name);
  const asked = { ...options, token, retry };
  const room = (
    channel === undefined
      ? chat(server, { ...asked, videoId: name, cursor: cursor as number | undefined })
      : followed(chat(server, { ...asked, channel, cursor: cursor as string | undefined }), notice)
  ) as Room;
  room.on("state", (state) => {
    if (state !== "open") return;
    if (lastReason !== "") notice("connected");
    wasOpen = true;
    lastReason = "";
  });
  return room;
}

/** The room of a channel; reports changes of the channel's state. */
function followed(room: ChannelChat, notice: Notice): ChannelChat {
  let last = "";
  room.on("channel", (state) => {
    const news = newsOf(state);
    if (news !== last) notice(news);
    last = news;
  });
  return room;
}
