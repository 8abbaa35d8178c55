/** Donations to charity, which the upstream reports in one sentence. */

import { asArray, asString, dig } from "../../json.ts";
import { readAmount } from "./amount.ts";
import { chatItem } from "./chat-item.ts";
import type { Reader } from "./reader.ts";
import { sentence } from "./text.ts";

export const donation: Reader = (item, context) => {
  const amount = amountIn(dig(item, "text"));
  return chatItem(item, context, {
    type: "donation",
    parts: sentence(dig(item, "text"), dig(item, "subtext")),
    amount,
    details: { amount: amount === "" ? undefined : readAmount(amount) },
  });
};

/** The run that is an amount and nothing else. */
function amountIn(text: unknown): string {
  for (const run of asArray(dig(text, "runs")) ?? []) {
    const words = asString(dig(run, "text"))?.trim() ?? "";
    const { value, currency } = readAmount(words);
    if (value !== null && currency !== null) return words;
  }
  return "";
}
