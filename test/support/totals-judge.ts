/** Random logs of a room, and what its totals are: counted from the whole log at once, by other rules. */
import fc from "fast-check";
import type { Details, MessageType } from "../../src/protocol/kinds.ts";
import type { Message } from "../../src/protocol/message.ts";
import type { Totals } from "../../src/store/totals.ts";

export const PAID = ["superchat", "supersticker", "jewels", "donation"];

/** A message of this type; its text distinguishes it from a blank one. */
export function said(type: MessageType, id: string, details: Details = {}): Message {
  const shown = { timestamp: "1:23 AM", author: details.authorId ?? "@nobody", message: `says ${id}` };
  return { type, id, ...shown, amount: "", color: "", parts: [], details } as Message;
}

/** A readable amount. */
export const paid = (value: number, currency = "EUR"): Details => ({ amount: { value, currency } });

const AUTHORS = ["UCa", "UCb", "UCc", undefined];
const AMOUNTS: Details["amount"][] = [
  ...[0.1, 0.2, 0.7, 4.99, 1e6, 123_456_789_012.345].map((value) => ({ value, currency: "EUR" })),
  { value: 1000, currency: "JPY" },
  { value: 999_999_999_999_999, currency: "VND" },
  { value: 0.1, currency: "VND" },
  { value: 50, currency: null },
  { value: null, currency: "EUR" },
  undefined,
];

type Draw = Record<"author" | "amount" | "target" | "count", number>;

/** One message each; `n` is its place in the log, and `old` a place before it. */
const MAKERS: Record<string, (n: number, old: number, draw: Draw) => Message> = {
  chat: (n, _, draw) => said("chat", `m${n}`, authorOf(draw)),
  superchat: (n, _, draw) => said("superchat", `m${n}`, { ...authorOf(draw), ...amountOf(draw) }),
  supersticker: (n, _, draw) => said("supersticker", `m${n}`, { ...authorOf(draw), ...amountOf(draw) }),
  donation: (n, _, draw) => said("donation", `m${n}`, amountOf(draw)),
  jewels: (n, _, draw) => said("jewels", `m${n}`, { ...authorOf(draw), jewels: { gift: "Star", count: 5 } }),
  combo: (n, old, draw) =>
    said("jewels", `m${old}:${n}`, { ...authorOf(draw), jewels: { gift: "Star" }, ...targeting(`m${old}`) }),
  gift: (n, _, { count }) => said("gift", `m${n}`, count === 0 ? {} : { gift: { count } }),
  received: (n, _, draw) => said("gift_received", `m${n}`, authorOf(draw)),
  pinned: (n, old, draw) => said("banner", `banner:${n}`, { ...amountOf(draw), ...targeting(`m${old}`) }),
  replaced: (n, old, draw) =>
    said("replaced", `replaced:m${old}:${n}`, {
      ...authorOf(draw),
      ...amountOf(draw),
      ...targeting(`m${old}`),
    }),
  // Before or after the message.
  deleted: (n, old, { target }) => {
    const id = target % 4 === 0 ? `m${n + 1 + target}` : `m${old}`;
    return said("deleted", `deleted:${id}`, targeting(id));
  },
  banned: (n, _, draw) => {
    const { authorId = "UCa" } = authorOf(draw);
    return said("author_deleted", `author_deleted:${authorId}:${n}`, { target: { authorId } });
  },
  gap: (n) => said("gap", `gap:${n}`),
};

const authorOf = ({ author }: Draw): Details => {
  const authorId = AUTHORS[author % AUTHORS.length];
  return authorId === undefined ? {} : { authorId };
};
const amountOf = ({ amount: drawn }: Draw): Details => {
  const amount = AMOUNTS[drawn % AMOUNTS.length];
  return amount ? { amount } : {};
};
const targeting = (messageId: string): Details => ({ target: { messageId } });

const draw = fc.record({ author: fc.nat(3), amount: fc.nat(11), target: fc.nat(30), count: fc.nat(20) });
const kind = fc.constantFrom(...Object.keys(MAKERS), "superchat", "superchat", "deleted", "banned");

/** A log with messages of all kinds that the totals distinguish. */
export const randomLog = fc.array(fc.tuple(kind, draw), { maxLength: 60, size: "max" }).map((drawn) =>
  drawn.map(([kind, draw], n): Message => {
    const make = MAKERS[kind] as (typeof MAKERS)[string];
    return make(n, n === 0 ? 0 : draw.target % n, draw);
  }),
);

/** A stored message, with the time at which it was stored. */
export interface Logged {
  message: Message;
  at: number;
}

interface Paid {
  place: number;
  id: string;
  firstId: string;
  author: string | undefined;
  /** Each amount that it had, since this place in the log. */
  amounts: { since: number; amount: Details["amount"] }[];
  isBlank: boolean;
}

function sumsOf(amounts: readonly Details["amount"][]): Totals["paid"] {
  const sums: Totals["paid"] = {};
  for (const amount of amounts) {
    if (!amount?.currency || amount.value === null) continue;
    const { count, thousandths } = sums[amount.currency] ?? { count: 0, thousandths: "0" };
    const [whole = "", fraction = ""] = `${amount.value}`.split(".");
    const sum = BigInt(thousandths) + BigInt(whole + fraction.padEnd(3, "0"));
    sums[amount.currency] = { count: count + 1, thousandths: `${sum}` };
  }
  return sums;
}

/** The totals of all that was ever stored. */
export function judged(log: readonly Logged[]): Totals {
  const details = log.map(({ message }): Details => message.details);
  const payments: Paid[] = [];
  for (const [place, { message }] of log.entries()) {
    const { authorId: author, amount, target } = message.details as Details;
    const isPaid = PAID.includes(message.type);
    const isReplaced = message.type === "replaced" && amount !== undefined;
    if (!isPaid && !isReplaced) continue;
    const id = isReplaced ? (target?.messageId ?? "") : message.id;
    const firstId = target?.messageId ?? message.id;
    const isBlank = isPaid && message.author === "";
    const known = payments.find((payment) => payment.id === id);
    const since = { since: place, amount };
    if (known && isReplaced) known.amounts.push(since);
    if (!known) payments.push({ place, id, firstId, author, amounts: [since], isBlank });
  }
  const deletes = (at: number, { place, firstId, author }: Paid) => {
    const { messageId, authorId } = details[at]?.target ?? {};
    if (log[at]?.message.type === "deleted") return messageId === firstId;
    return log[at]?.message.type === "author_deleted" && authorId === author && at > place;
  };
  /** Where it was deleted; infinite if it was not. */
  const deletedAt = (payment: Paid) => {
    const at = payment.isBlank ? payment.place : log.findIndex((_, at) => deletes(at, payment));
    return at < 0 ? Number.POSITIVE_INFINITY : Math.max(at, payment.place);
  };
  const left = payments.filter((payment) => deletedAt(payment) === Number.POSITIVE_INFINITY);
  const gone = payments.filter((payment) => !left.includes(payment));
  const amountsOf = (some: readonly Paid[]) =>
    some.map((payment) => payment.amounts.findLast(({ since }) => since <= deletedAt(payment))?.amount);
  const paid = sumsOf(amountsOf(left));
  const types = Map.groupBy(log, ({ message }) => message.type);
  const gifts = (types.get("gift") ?? []).map(({ message }) => (message.details as Details).gift?.count ?? 1);
  return {
    types: Object.fromEntries([...types].map(([type, all]) => [type, all.length])),
    paid,
    unreadable: left.length - Object.values(paid).reduce((sum, { count }) => sum + count, 0),
    deletedPaid: gone.length,
    deleted: sumsOf(amountsOf(gone)),
    memberships: gifts.reduce((sum, count) => sum + count, 0),
    authors: new Set(details.map(({ authorId }) => authorId).filter((id) => id !== undefined)).size,
    firstAt: log[0]?.at ?? null,
    lastAt: log.at(-1)?.at ?? null,
  };
}
