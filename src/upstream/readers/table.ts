/**
 * Every kind that is known, by its key: that of a chat item's renderer, else that of the action. "silent" has
 * nothing for a viewer. A kind that stands nowhere here is unknown.
 */
import { chat, membership } from "./chat.ts";
import { superchat, supersticker } from "./paid.ts";
import type { Reader } from "./reader.ts";

export const READERS: ReadonlyMap<string, Reader | "silent"> = new Map<string, Reader | "silent">([
  ["liveChatTextMessageRenderer", chat],
  ["liveChatPaidMessageRenderer", superchat],
  ["liveChatPaidStickerRenderer", supersticker],
  ["liveChatMembershipItemRenderer", membership],

  ["liveChatPlaceholderItemRenderer", "silent"],
  ["showLiveChatTooltipCommand", "silent"],
  ["showCreatorGoalTickerChipCommand", "silent"],
  ["showFanzoneTickerChipCommand", "silent"],
  ["removeFanzoneTickerChipCommand", "silent"],
  ["liveChatReportModerationStateCommand", "silent"],
  ["changeEngagementPanelVisibilityAction", "silent"],
  ["signalAction", "silent"],
  ["dimChatItemAction", "silent"],
  ["liveChatAddToToastAction", "silent"],
  ["addLiveChatTextMessageFromTemplateAction", "silent"],
]);
