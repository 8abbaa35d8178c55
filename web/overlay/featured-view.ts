/** `view=featured`: the message that a moderator features, until it is taken away or deleted. */
import type { Featured } from "../../client/index.ts";
import { replaceContent, targetOf } from "../chat/chat-rows.ts";
import { make } from "../chat/dom.ts";
import { draw } from "../chat/draw.ts";
import { giveUpPictures } from "../chat/pictures.ts";
import {
  completed,
  type Display,
  type Fate,
  type ShownMessage,
  type SourceMark,
} from "../chat/shown-message.ts";

/** The service features a message without its cursor. */
const NO_CURSOR = 0;

/** The featured message of one chat. */
interface Choice {
  message: ShownMessage;
  fate: Fate;
  /** In ms since 1970. */
  at: number;
}

/** `isDemo`: the samples are featured one after the other. */
export function openFeatured(display: Display, place: HTMLElement, isDemo: boolean) {
  /** By video; "" if there is only one. The last choice of all is shown. */
  const choices = new Map<string, Choice>();
  let shown: Choice | undefined;
  let element: HTMLElement | undefined;
  const show = (): void => {
    const [latest] = [...choices.values()].sort((one, other) => other.at - one.at);
    if (latest === shown) return;
    shown = latest;
    element?.remove();
    giveUpPictures(element);
    element = latest && make("div", { id: "featured" });
    if (!latest || !element) return;
    draw(element, latest.message, latest.fate, display);
    if (latest.message.cursor === NO_CURSOR) element.removeAttribute("data-cursor");
    place.append(element);
  };
  return {
    feature: ({ message, featuredAt = "" }: Featured, source?: SourceMark): void => {
      const videoId = source?.videoId ?? "";
      const known = choices.get(videoId);
      const at = Date.parse(featuredAt);
      if (message && known?.at === at && known.message.id === message.id) return; // as it was before a cut
      if (message)
        choices.set(videoId, {
          message: { ...completed({ cursor: NO_CURSOR, ...message }), ...(source && { source }) },
          fate: {},
          at,
        });
      else choices.delete(videoId);
      show();
    },
    take: (items: readonly (ShownMessage | "gap")[], source?: SourceMark): void => {
      const videoId = source?.videoId ?? "";
      for (const item of items) {
        const known = choices.get(videoId);
        if (item === "gap") continue;
        if (isDemo && item.author !== "") choices.set(videoId, { message: item, fate: {}, at: 0 });
        if (item.type !== "replaced" || !known || targetOf(item).messageId !== known.message.id) continue;
        const changed = { ...known, fate: {} };
        replaceContent(changed, item);
        choices.set(videoId, changed);
      }
      show();
    },
    /** Another broadcast begins. */
    clear: (): void => {
      choices.clear();
      show();
    },
    beginBackfill: (): void => {},
  };
}
