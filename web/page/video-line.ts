/** The line that names the video of a chat: its picture, its title with a link to it, and its channel. */
import { make } from "../chat/dom.ts";
import { drawPicture, giveUpPictures } from "../chat/pictures.ts";
import { CHANNEL_ID } from "../chat/stored.ts";
import type { Room } from "./known-room.ts";

const YOUTUBE = "https://www.youtube.com";
const LINE_BREAK = /[\t-\r\u0085\u2028\u2029]+/g;
/** Control characters, and those that reorder the text around them. */
const CONTROL = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** The text on one line, without characters that would change the text around it. */
export function oneLine(text = ""): string {
  return text.replace(LINE_BREAK, " ").replace(CONTROL, "").trim();
}

/** Draws the line; without a title it is hidden. `images`: whether the video's picture is shown. */
export function drawVideo(
  line: HTMLElement,
  videoId: string,
  room: Pick<Room, "title" | "channel">,
  images: boolean,
): void {
  giveUpPictures(line);
  const [title, name] = [oneLine(room.title), oneLine(room.channel?.name)];
  line.hidden = title === "";
  if (line.hidden) {
    line.removeAttribute("data-video-id");
    line.replaceChildren();
    return;
  }
  line.dataset.videoId = videoId;
  const { id = "" } = room.channel ?? {};
  line.replaceChildren(
    ...[
      images ? pictureOf(videoId) : undefined,
      linkTo(`${YOUTUBE}/watch?v=${encodeURIComponent(videoId)}`, title),
      name !== "" && CHANNEL_ID.test(id) ? linkTo(`${YOUTUBE}/channel/${id}`, name) : make("bdi", {}, name),
    ].filter((each) => each !== undefined),
  );
}

/** The browser asks for it only where the stylesheet shows it. */
function pictureOf(videoId: string): Node | undefined {
  const url = `https://i.ytimg.com/vi/${encodeURIComponent(videoId)}/mqdefault.jpg`;
  return drawPicture(url, { alt: "", loading: "lazy" }, () => undefined);
}

function linkTo(href: string, text: string): HTMLElement {
  const attributes = { href, target: "_blank", rel: "noopener noreferrer nofollow ugc", title: text };
  return make("a", attributes, make("bdi", {}, text));
}
