/** Gifts in jewels, in both of the forms in which the upstream shows one. */
import { adding } from "./chat-items.ts";

/** An item of the list. */
export const gift = (id: string, sentence: string, own: object = {}) =>
  adding({
    giftMessageViewModel: { id, text: { content: sentence }, authorName: { content: "@giver " }, ...own },
  });

type Model = { giftAttributionItemViewModel: object };

/** A widget above the list, of a gold coin; `wrap` makes its holder. */
export const giftWidget = (
  id: string,
  comboCount?: number,
  wrap: (model: Model) => object = (model) => model,
) => ({
  updateOrAddInteractivityWidgetAction: {
    widgetRenderer: {
      interactivityWidgetRenderer: {
        id,
        type: "INTERACTIVITY_WIDGET_TYPE_GIFT",
        content: wrap({
          giftAttributionItemViewModel: {
            id,
            authorName: { content: "@giver" },
            detailText: { content: "Sent a gift" },
            attributionImage: {
              sources: [
                { url: "//www.gstatic.com/youtube/img/pdg/gift/assets/gold_coin_v2.png=w80", width: 80 },
              ],
            },
            comboCount,
          },
        }),
      },
    },
  },
});
