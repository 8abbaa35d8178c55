/**
 * One of the chats of a merged connection: enters its room, again after a failure that may pass, and writes
 * what its viewer is sent.
 */

import { vectorOf } from "../../protocol/cursor-vector.ts";
import { ERRORS, type RelayError } from "../../protocol/errors.ts";
import { ChatWriter } from "../../serving/multiplex/chat-writer.ts";
import { endEvent, errorEvent } from "../../serving/multiplex/events.ts";
import type { Multiplex } from "../../serving/multiplex/multiplex.ts";
import type { ChatPart } from "../../serving/multiplex/parts.ts";
import { type ChatParts, type ChatRequest, stayEntered } from "./entered-chat.ts";

interface MergedChatParts extends ChatParts {
  line: Multiplex;
  /** The id from which the connection resumes after the next frame. */
  id(): string;
}

/** Reads several chats on one connection. Resolves when all of them, or the connection, are over. */
export async function readMerged(
  line: Multiplex,
  requests: readonly ChatRequest[],
  parts: ChatParts,
): Promise<void> {
  const id = () => vectorOf(chats.map(({ cursor }) => cursor));
  const chats: MergedChat[] = requests.map((request) => new MergedChat(request, { ...parts, line, id }));
  await Promise.all(chats.map((chat) => chat.run()));
  line.end();
}

class MergedChat {
  readonly #request: ChatRequest;
  readonly #parts: MergedChatParts;
  readonly #writer: ChatWriter;
  /** Counts it as a viewer between two tries: a room counts its own. */
  #slot: Disposable | undefined;

  constructor(request: ChatRequest, parts: MergedChatParts) {
    this.#request = request;
    this.#parts = parts;
    this.#writer = new ChatWriter(request.videoId, request.lastEventId, parts.line, parts.id);
  }

  /** The cursor up to which the client has everything; before the chat is open, the one that it sent. */
  get cursor(): number | undefined {
    return this.#writer.cursor;
  }

  /** Resolves when the chat is over for this connection, or the connection is. */
  run(): Promise<void> {
    const { line } = this.#parts;
    const stays = { stay: () => this.#stay(), failed: (error: RelayError) => this.#failed(error) };
    const over = stayEntered(line, this.#parts, stays, line.gone);
    return over.finally(() => this.#slot?.[Symbol.dispose]());
  }

  async #stay(): Promise<boolean> {
    const { line, form, rooms } = this.#parts;
    const branch = line.branch(form, (part) => this.#write(part));
    const open = () => {
      line.gone.throwIfAborted();
      return branch;
    };
    this.#slot?.[Symbol.dispose]();
    try {
      const request = { ...this.#request, lastEventId: this.cursor, open };
      await rooms.enter(request, line.gone);
      const { isOver } = await branch.left;
      return isOver;
    } finally {
      line.leave(branch);
      this.#slot = rooms.countWaiting({ end() {} }); // a stop ends the whole connection
    }
  }

  #failed({ body }: RelayError): boolean {
    const { line } = this.#parts;
    const mayPass = ERRORS[body.code].retry === "relay";
    // After its `init`, a client takes an error for the end of the chat. And between rooms nobody judges
    // whether the client reads, so what will be said again waits until it does.
    const isSilent = mayPass && (this.#writer.isBegun || line.isFull);
    if (!isSilent) line.write(errorEvent(line.events, this.#request.videoId, body));
    return mayPass;
  }

  #write(part: ChatPart): void {
    const { line } = this.#parts;
    const end = this.#writer.write(part);
    if (end) line.write(endEvent(line.events, this.#request.videoId, end));
  }
}
