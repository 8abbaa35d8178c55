/** One open stream of an origin: its init, then facts and messages in the batches in which they arrive. */
import { asNumber, asString, dig, parseJson } from "../base/json.ts";
import { type ChatType, ENDED, isChatType, RELEASED, type RoomEnd } from "../protocol/chat.ts";
import { isErrorCode } from "../protocol/errors.ts";
import type { VideoFacts } from "../protocol/video-facts.ts";
import type { Fact } from "../store/port.ts";
import type { StoredMessage } from "../store/stored-message.ts";
import { videoFactsIn } from "../store/stored-video.ts";
import { factIn, messageIn } from "./line-reader.ts";
import type { LineStream } from "./line-stream.ts";
import { OriginAwayError } from "./origin-refusal.ts";

const MESSAGE = '{"event":"message","cursor":';
export class OriginStream implements Disposable {
  /** The cursor after which it begins. */
  readonly cursor: number;
  readonly chatType: ChatType;
  /** What the origin says of the video; undefined if that is nothing. */
  readonly video: VideoFacts | undefined;
  readonly #lines: LineStream;
  /** The lines that came with the init. */
  readonly #early: string[];

  /** Resolves when the stream's init has come. Rejects with `OriginAwayError`. */
  static async begin(lines: LineStream): Promise<OriginStream> {
    try {
      for await (const batch of lines) {
        const place = batch.findIndex((line) => line.startsWith('{"event":"init"'));
        if (place >= 0) return new OriginStream(lines, batch.slice(place));
      }
      throw new OriginAwayError("its stream has no init");
    } catch (error) {
      lines[Symbol.dispose]();
      throw error;
    }
  }

  private constructor(lines: LineStream, [first = "", ...early]: string[]) {
    const init = parseJson(first);
    const [cursor, chatType] = [asNumber(dig(init, "cursor")), asString(dig(init, "chatType"))];
    if (cursor === undefined || !isChatType(chatType))
      throw new OriginAwayError("its stream has an unknown init");
    this.cursor = cursor;
    this.chatType = chatType;
    const details = dig(init, "details");
    this.video = details === undefined ? undefined : videoFactsIn(details);
    this.#lines = lines;
    this.#early = early;
  }

  [Symbol.dispose](): void {
    this.#lines[Symbol.dispose]();
  }

  /**
   * The stream's facts and messages, of each batch the facts first, and then the end of the room, if the
   * stream ends with one. Rejects with `OriginAwayError` if the connection breaks or is silent for three
   * keepalive intervals.
   */
  async *batches(): AsyncGenerator<Fact | StoredMessage[] | RoomEnd, void, void> {
    for await (const lines of this.#allLines()) {
      yield* lines.map(factIn).filter((fact) => fact !== undefined);
      const messages = lines.filter((line) => line.startsWith(MESSAGE));
      if (messages.length > 0) yield messages.map((line) => messageIn(line, MESSAGE));
      const end = endIn(lines.at(-1) ?? "");
      if (end) return yield end;
    }
  }

  async *#allLines(): AsyncGenerator<string[], void, void> {
    yield this.#early;
    yield* this.#lines;
  }
}

/** The end of the room in a stream's last line; undefined if the line only ends a bounded stream. */
function endIn(line: string): RoomEnd | undefined {
  if (!line.startsWith('{"event":"end"') && !line.startsWith('{"event":"error"')) return undefined;
  const said = parseJson(line);
  const [reason, code, message] = ["reason", "code", "message"].map((name) => asString(dig(said, name)));
  const end = [ENDED, RELEASED].find((known) => known.reason === reason);
  if (end) return end;
  if (message === undefined || !isErrorCode(code)) return undefined;
  return { state: "failed", error: { code, message } };
}
