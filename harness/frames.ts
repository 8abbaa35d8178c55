/**
 * Server-sent events for the viewers of a run. All viewers receive the same bytes, so each is parsed only
 * once.
 */

export interface Frame {
  /** `cursor` for a cursor frame. */
  event: string;
  /** The cursor of a message, or a cursor frame. */
  cursor: number | undefined;
  data: string;
}

const FRAME = /^(?:id: (\d+)\n)?event: (\w+)\ndata: ([^\n]*)$/;
const ID_ALONE = /^id: (\d+)$/;

export class FrameReader {
  readonly #parsed = new WeakMap<Buffer, readonly Frame[]>();

  /** The events in bytes of whole frames; skips comments and `retry`. Throws for anything else. */
  read(bytes: Buffer): readonly Frame[] {
    let frames = this.#parsed.get(bytes);
    if (!frames) {
      frames = bytes.toString().split("\n\n").flatMap(parse);
      this.#parsed.set(bytes, frames);
    }
    return frames;
  }
}

function parse(text: string): Frame[] {
  if (text === "" || text.startsWith(": ") || text.startsWith("retry: ")) return [];
  const [, idAlone] = ID_ALONE.exec(text) ?? [];
  if (idAlone !== undefined) return [{ event: "cursor", cursor: Number(idAlone), data: "" }];
  const [, id, event, data] = FRAME.exec(text) ?? [];
  if (event === undefined || data === undefined) throw new Error(`no frame: ${text.slice(0, 200)}`);
  return [{ event, cursor: id === undefined ? undefined : Number(id), data }];
}
