/**
 * The frames of the viewers of a run, from Server-Sent Events and from NDJSON. Viewers share bytes, so each
 * is parsed only once.
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
const LINE = /^\{"event":"(\w+)"(?:,"cursor":(\d+))?,?(.*)$/s;

export class FrameReader {
  readonly #parsed = new WeakMap<Buffer, readonly Frame[]>();

  /** The events in bytes of whole frames; skips comments and `retry`. Throws for anything else. */
  read(bytes: Buffer): readonly Frame[] {
    let frames = this.#parsed.get(bytes);
    if (!frames) {
      const text = bytes.toString();
      const isSse = !text.startsWith("{");
      frames = isSse ? text.split("\n\n").flatMap(parse) : text.trimEnd().split("\n").flatMap(parseLine);
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

/** The fields of a line after its event, and a message's cursor, are its data. */
function parseLine(text: string): Frame[] {
  const [, event, cursor, rest] = LINE.exec(text) ?? [];
  if (event === undefined) throw new Error(`no frame: ${text.slice(0, 200)}`);
  if (event === "keepalive") return [];
  return [{ event, cursor: cursor === undefined ? undefined : Number(cursor), data: `{${rest}` }];
}
