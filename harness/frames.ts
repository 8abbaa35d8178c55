/** Server-sent events as the viewers of a run read them: viewers are sent the same bytes, which are parsed once. */

export interface Frame {
  event: string;
  /** The cursor of a message. */
  cursor: number | undefined;
  data: string;
}

const FRAME = /^(?:id: (\d+)\n)?event: (\w+)\ndata: ([^\n]*)$/;

export class FrameReader {
  readonly #parsed = new WeakMap<Buffer, readonly Frame[]>();

  /** The events in bytes that hold whole frames; comments and `retry` are none. Throws for anything else. */
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
  const [, id, event, data] = FRAME.exec(text) ?? [];
  if (event === undefined || data === undefined) throw new Error(`no frame: ${text.slice(0, 200)}`);
  return [{ event, cursor: id === undefined ? undefined : Number(id), data }];
}
