/** Actions and renderers that only hold another one, and are read as that one. */
import { dig } from "../../base/json.ts";
import type { Reader } from "./reader.ts";

export const item: Reader = (action, { read }) => read(dig(action, "item"));

/** A ticker shows an item of the chat. Its copy of the item may lack the id. */
export const ticker: Reader = (renderer, { read }) => {
  const outcome = read(dig(renderer, "showItemEndpoint", "showLiveChatItemEndpoint", "renderer"), {
    id: dig(renderer, "id"),
    authorExternalChannelId: dig(renderer, "authorExternalChannelId"),
  });
  const { item } = outcome;
  return typeof item === "string" ? outcome : { ...outcome, item: { ...item, isInTicker: true } };
};

/** Widgets that repeat a paid sticker of the list, or ask the viewer to do something. */
const SILENT_WIDGETS: ReadonlySet<unknown> = new Set(
  ["PAID_STICKER", "PROMPT"].map((name) => `INTERACTIVITY_WIDGET_TYPE_${name}`),
);

/** An animation over the chat. Without content of its own it is a picture of another gift. */
export const widget: Reader = (action, { read }) => {
  const renderer = dig(action, "widgetRenderer", "interactivityWidgetRenderer");
  if (SILENT_WIDGETS.has(dig(renderer, "type"))) return "silent";
  const content = dig(renderer, "content");
  return read(content === undefined ? action : content);
};
