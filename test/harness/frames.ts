/**
 * The frames of the viewers of a run, from Server-Sent Events and from NDJSON. Viewers share bytes, so each
 * is parsed only once.
 */

export interface Frame {
  /** `cursor` for a cursor frame. */
  event: string;
  /** The id with which the client comes back after this frame; undefined if it has none. */
  id: string | undefined;
  /** The cursor of a message, or a cursor frame, on a connection of one chat. */
  cursor: number | undefined;
  data: string;
}

const FRAME = /^(?:id: (\S+)\n)?event: (\w+)\ndata: ([^\n]*)$/;
const ID_ALONE = /^id: (\S+)$/;
const LINE = /^\{"event":"(\w+)"(?:,"cursor":(\d+))?,?(.*)$/s;
/** A line of a connection that carries several chats. A message's own id has another name there. */
const LINE_OF_SEVERAL =
  /^\{"event":"\w+",("videoId":"[\w-]+"),"cursor":\d+,"id":"([^"]+)"(?:,"message(Id":.*)|\})$/s;

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
  if (idAlone !== undefined) return [{ event: "cursor", id: idAlone, cursor: cursorIn(idAlone), data: "" }];
  const [, id, event, data] = FRAME.exec(text) ?? [];
  if (event === undefined || data === undefined) throw new Error(`no frame: ${text.slice(0, 200)}`);
  return [{ event, id, cursor: cursorIn(id), data }];
}

/** The fields of a line after its event, and a message's cursor, are its data. */
function parseLine(text: string): Frame[] {
  const [, event, id, rest] = LINE.exec(text) ?? [];
  if (event === undefined) throw new Error(`no frame: ${text.slice(0, 200)}`);
  if (event === "keepalive") return [];
  const [, video, idOfSeveral, message = ""] = LINE_OF_SEVERAL.exec(text) ?? [];
  if (video === undefined) return [{ event, id, cursor: cursorIn(id), data: `{${rest}` }];
  const data = message === "" ? "" : `{${video},"${message.replace("Id", "id")}`;
  return [{ event, id: idOfSeveral, cursor: undefined, data }];
}

function cursorIn(id: string | undefined): number | undefined {
  return id !== undefined && /^\d+$/.test(id) ? Number(id) : undefined;
}
