/** A pinned message that is replaced, on either page. */
import assert from "node:assert/strict";
import { replacementOf, textAction, textItem } from "./chat-actions.ts";
import { bannered } from "./every-kind.ts";
import type { Pages } from "./pages.ts";

/** Pins a message by the action `one`, and replaces it: the page then shows the new words alone. */
export async function assertPinnedReplaced(pages: Pages): Promise<void> {
  const { page, chat } = pages;
  chat.say([textAction("a"), bannered(textItem("a", { text: "old words" }), { actionId: "one" })]);
  await pages.visit();
  await page.locator("#pinned").getByText("old words").waitFor();
  chat.say([replacementOf("a", "new words")]);
  await page.locator("#pinned").getByText("new words").waitFor();
  assert.equal(await page.getByText("old words").count(), 0);
}
