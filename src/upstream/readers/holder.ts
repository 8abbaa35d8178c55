/** Actions and renderers that only hold another, which is what they are read as. */
import { dig } from "../../json.ts";
import type { Reader } from "./reader.ts";

export const item: Reader = (action, { read }) => read(dig(action, "item"));

/** A ticker shows an item of the chat, whose copy here may lack its id. */
export const ticker: Reader = (renderer, { read }) =>
  read(dig(renderer, "showItemEndpoint", "showLiveChatItemEndpoint", "renderer"), {
    id: dig(renderer, "id"),
    authorExternalChannelId: dig(renderer, "authorExternalChannelId"),
  });

/** What phones show moving over the chat. */
export const widget: Reader = (action, { read }) =>
  read(dig(action, "widgetRenderer", "interactivityWidgetRenderer", "content"));
