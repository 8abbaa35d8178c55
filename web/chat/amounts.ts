/** Paid amounts, compared with a limit such as `5EUR`. */
import { GROUPS } from "../../client/index.ts";
import type { ShownMessage } from "./shown-message.ts";

export interface Money {
  value: number;
  /** ISO 4217, in capitals. */
  currency: string;
}

const PAID: ReadonlySet<string> = new Set(GROUPS.paid);

/** Undefined for a text of another form. */
export function moneyIn(text: string): Money | undefined {
  const [, value, currency] = /^(\d+(?:\.\d+)?) *([a-z]{3})$/i.exec(text) ?? [];
  return value && currency ? { value: Number(value), currency: currency.toUpperCase() } : undefined;
}

export function isPaid({ type }: ShownMessage): boolean {
  return PAID.has(type);
}

/** Whether at least this was paid. Another currency and an unreadable amount are below any limit. */
export function reaches({ details }: ShownMessage, { value, currency }: Money): boolean {
  const { amount } = details;
  return amount?.currency === currency && (amount.value ?? 0) >= value;
}
