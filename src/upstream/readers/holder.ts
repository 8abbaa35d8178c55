/** Actions and renderers that only hold another, which is what they are read as. */
import { dig } from "../../json.ts";
import type { Reader } from "./reader.ts";

export const item: Reader = (action, { read }) => read(dig(action, "item"));

/** A ticker shows an item of the chat, whose copy here may lack its id. */
export const ticker: Reader = (renderer, { read }) => {
  const outcome = read(dig(renderer, "showItemEndpoint", "showLiveChatItemEndpoint", "renderer"), {
    id: dig(renderer, "id"),
    authorExternalChannelId: dig(renderer, "authorExternalChannelId"),
  });
  const { item } = outcome;
  return typeof item === "string" ? outcome : { ...outcome, item: { ...item, isInTicker: true } };
};

/** What moves over the chat; without a widget of its own it is another's picture. */
export const widget: Reader = (action, { read }) => {
  const content = dig(action, "widgetRenderer", "interactivityWidgetRenderer", "content");
  return read(content === undefined ? action : content);
};
