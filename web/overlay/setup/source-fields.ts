/**
 * The two fields of the overlay's chat: a video, or a channel. A name that cannot be used is explained at
 * once. Once a name is entered, the service is asked for its chat, and its answer is shown if there is none:
 * the overlay itself shows nothing to the audience.
 */
import { isChannel, parseVideoOrChannel } from "../../../src/protocol/channel.ts";
import { isPartlyInvisible, quoted, withoutSurroundings } from "../../../src/protocol/pasted-name.ts";
import { parseVideoId } from "../../../src/protocol/video-id.ts";
import { withoutHeaders } from "../../chat/page-token.ts";
import { openChat } from "../../chat/source.ts";
import type { SourceChat } from "../../chat/source-chat.ts";
import { MAX_CHATS } from "../source-marks.ts";
import { type Field, judged, textField } from "./fields.ts";

const SERVICE = new URL("..", location.href).href;
/** A handle without its `@`, as many people write it. */
const BARE_HANDLE = /^(?!UC[\w-]{22}$)[\p{L}\p{M}\p{N}\p{Join_Control}_.·-]{3,30}$/u;

const WORDS = {
  videoId: {
    neither: "This is neither the id nor the URL of a video.",
    other: "This is a channel: enter it in the next field.",
  },
  channel: {
    neither: "This is neither a handle (@name) nor the id or URL of a channel.",
    other: "This is a video: enter it in the field above.",
  },
} as const;

type Name = keyof typeof WORDS;

export class SourceFields {
  readonly video: Field;
  readonly channel: Field;
  /** Several videos, whose chats are one list. */
  readonly videos: Field;
  readonly #token: () => string;
  readonly #answered: () => void;
  #room: SourceChat | undefined;
  /** The name and the token that the service was asked with, and its answer if it has no chat. */
  #asked = "";
  #sent = "";
  #answer = "";

  /**
   * `token`: what to show to the service, "" if nothing. `answered` is called once the service has said that
   * there is no chat: judge the fields again.
   */
  constructor(token: () => string, answered: () => void) {
    this.#token = token;
    this.#answered = answered;
    const video = textField("videoId", "Video", "URL or id of the stream");
    this.video = this.#field("videoId", { ...video, value: () => idIn(video.value()) });
    const videos = textField("videoIds", "Or several videos", "URLs or ids, with commas between them");
    const idsIn = (): string =>
      videos
        .value()
        .split(",")
        .map((name) => idIn(name.trim()))
        .filter(Boolean)
        .join();
    videos.element.addEventListener("change", ({ target }) => {
      if (target instanceof HTMLInputElement) target.value = idsIn();
    });
    this.videos = judged({ ...videos, value: idsIn }, () => {
      const names = idsIn() === "" ? [] : idsIn().split(",");
      const wrong = names.find((name) => faultOf("videoId", name) !== "");
      if (wrong !== undefined) return `${quoted(wrong)} is neither the id nor the URL of a video.`;
      if (names.length > MAX_CHATS) return `The overlay shows the first ${MAX_CHATS}.`;
      return names.length > 0 && this.video.value() !== ""
        ? "The overlay shows the video above. Clear that field to show these."
        : "";
    });
    const channel = textField("channel", "Or channel", "@handle: whatever it streams");
    this.channel = this.#field("channel", {
      ...channel,
      value: () => withoutSurroundings(channel.value()).replace(BARE_HANDLE, "@$&"),
    });
  }

  /** Asks the service for the chat that the fields name, unless it was asked for the same one. */
  ask(): void {
    const name = this.#name;
    const token = this.#token();
    if (name === this.#asked && token === this.#sent) return;
    this.#room?.close();
    this.#asked = name;
    this.#sent = token;
    this.#answer = "";
    const shown = this.video.value() === "" ? "channel" : "videoId";
    if (name === "" || faultOf(shown, name) !== "") return;
    const source = { videoId: this.video.value(), channel: this.channel.value() };
    const room = openChat(SERVICE, source, { backfill: 0, token, retry: () => false });
    this.#room = room;
    for (const event of ["init", "channel"] as const) room.on(event, () => room.close());
    room.on("message", () => {}); // without it, there is no connection
    room.on("error", ({ message }) => {
      if (this.#room !== room) return;
      this.#answer = withoutHeaders(message, token, "enter it in the field Token");
      this.#answered();
    });
  }

  /** The video wins. */
  get #name(): string {
    return this.video.value() || this.channel.value();
  }

  #field(name: Name, field: Field): Field {
    field.element.addEventListener("change", ({ target }) => {
      const value = field.value();
      // The name takes the place of a URL that was pasted.
      if (target instanceof HTMLInputElement && faultOf(name, value) === "") target.value = value;
      this.ask();
    });
    return judged(field, () => {
      const value = field.value();
      if (value === "") return "";
      if (faultOf(name, value) !== "") return faultOf(name, value);
      if (name === "channel" && this.video.value() !== "")
        return "The overlay shows the video above. Clear that field to show the channel.";
      return this.#asked === value ? this.#answer : "";
    });
  }
}

/** The video's id, in place of a URL; a name that is none as it is. */
function idIn(name: string): string {
  try {
    return parseVideoId(name);
  } catch {
    return name;
  }
}

/** Why the field cannot have this value, or "". */
function faultOf(name: Name, value: string): string {
  const { neither, other } = WORDS[name];
  try {
    return isChannel(parseVideoOrChannel(value)) === (name === "channel") ? "" : other;
  } catch {
    return isPartlyInvisible(value)
      ? `${neither} It contains an invisible character: ${quoted(value)}.`
      : neither;
  }
}
