/**
 * The viewers and recordings that wait for one room to open, and what they require of the opening: that it
 * waits for an absent live chat, reads on after a stored end, or finds the replay.
 */
import type { Chat, ChatType } from "../../protocol/chat.ts";
import { typeOfChat } from "../../protocol/chat-key.ts";
import { belongsTo, type CursorRange } from "../../serving/resume-or-backfill.ts";
import type { StreamRequest } from "../../serving/room.ts";

/** Those with a cursor, and recordings, may wait even for a live chat that is absent. */
export class WaitingViewers {
  readonly #requests = new Set<StreamRequest>();

  get size(): number {
    return this.#requests.size;
  }

  add(request: StreamRequest): void {
    this.#requests.add(request);
  }

  delete(request: StreamRequest): void {
    this.#requests.delete(request);
  }

  /**
   * Whether one of them must get the live chat even if it is absent now: a recording, or a viewer whose
   * cursor is in `range` (any cursor, if no range is given). One that names the replay does not wait for it.
   */
  needsLiveChat(range?: CursorRange): boolean {
    const needsIt = ({ chat, lastEventId }: StreamRequest) =>
      chat !== "replay" && (range ? belongsTo(range, lastEventId) : lastEventId !== undefined);
    return this.#requests.values().some((request) => request.isRecording || needsIt(request));
  }

  /** Whether one of them knows that the chat goes on after the end that the store has. */
  get reopens(): boolean {
    return this.#requests.values().some(({ reopens }) => reopens === true);
  }

  /** The replay that goes on, if all of them have cursors of it. */
  get replayOfAll(): CursorRange | undefined {
    const [first] = this.#requests;
    return this.#requests.values().every(({ replay }) => replay) ? first?.replay : undefined;
  }

  /**
   * The type of the chat that will be found: of the replay, if all of them ask for that by its name or by a
   * cursor; else of `known`, as the store says.
   */
  expectedType(known: Chat = "live"): ChatType {
    const asksForReplay = ({ chat, replay }: StreamRequest) => chat === "replay" || replay !== undefined;
    const isReplay = this.size > 0 && this.#requests.values().every(asksForReplay);
    return typeOfChat(isReplay ? "replay" : known);
  }
}
