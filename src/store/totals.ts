/**
 * The totals of a room, counted in batches along its log: the same for every store. A store keeps a room's
 * totals together with the cursor up to which they count, so each message counts once. Pruning lowers
 * nothing, because the items keep all that a later deletion needs.
 *
 * Ids are kept as hashes. So the totals contain no author, also after a deletion and after the retention.
 */
import { hash } from "node:crypto";
import { asArray, asObject, asString, dig, type JsonObject, parseJson } from "../base/json.ts";
import { GROUPS, MESSAGE_TYPES, type MessageType } from "../protocol/kinds.ts";
import type { Message } from "../protocol/message.ts";
import { blockKey, blockOf, FOUND_BY_ALL, MARK_LENGTH, marksIn } from "./author-blocks.ts";
import { isBlank, type StoredMessage } from "./stored-message.ts";
import { isSound } from "./strict-rows.ts";

/** Payments by currency, in thousandths, because no amount has more decimals. */
export type Sums = Record<string, { count: number; thousandths: string }>;

export interface Totals {
  /** The number of messages by type; types that did not occur are absent. */
  types: Partial<Record<MessageType, number>>;
  /** Without deleted payments. */
  paid: Sums;
  /** The number of other paid messages that were not deleted: value or currency is unknown. */
  unreadable: number;
  /** The number of paid messages that were deleted, alone or with all messages of their author. */
  deletedPaid: number;
  /** Those of them whose amount is known. */
  deleted: Sums;
  /** The number of memberships given as gifts. */
  memberships: number;
  /** The number of distinct channel ids. */
  authors: number;
  /** The times at which the first and the last message were stored, in wall milliseconds. */
  firstAt: number | null;
  lastAt: number | null;
}

/** A message to count, with the wall time in milliseconds at which it was stored. */
export interface TallyMessage extends Pick<StoredMessage, "cursor" | "body" | "details"> {
  at: number;
}

/** An item remembered beyond the totals: one author, one paid message, or a block of the index of authors. */
export interface TallyItem {
  key: string;
  /** The author of a payment that counts: the deletion of this author takes it back. Otherwise null. */
  author: string | null;
  /** The key of the first gift, if the payment is a further gift of its combo. Otherwise null. */
  first: string | null;
  /** A `Payment` as JSON text; otherwise null. */
  payment: string | null;
  /** The marks of a block in their order, one after the other; otherwise null. */
  authors: string | null;
}

/**
 * Messages to count, in their order, and the items to know for it: those with one of the `keys`, of the
 * `authors`, or with one of the keys in `firsts` as their first gift.
 */
export interface TallyBatch {
  readonly counted: readonly Counted[];
  readonly keys: readonly string[];
  readonly authors: readonly string[];
  readonly firsts: readonly string[];
}

type Amount = { currency: string; thousandths: string };

/** A paid message, under the hash of its id. */
interface Payment {
  /** Whether the message came, and whether it counts. A pruned one may come again. */
  isSeen: boolean;
  isLive: boolean;
  /** Null if the value or the currency is unknown. */
  amount: Amount | null;
  /** Whether this id was deleted, possibly before the message came. */
  isDeleted: boolean;
}

interface Counted {
  at: number;
  type: MessageType | undefined;
  author: string | undefined;
  memberships: number;
  act: Act | undefined;
  /** The number of its block, and its mark there, if it has one. */
  block: number;
  mark: string | undefined;
}

type Act =
  | { is: "payment"; key: string; first: string | null; amount: Amount | null; isBlank: boolean }
  | { is: "replacement"; key: string; amount: Amount | null }
  | { is: "deletion"; key: string }
  | { is: "author deletion"; author: string };

export const NO_TOTALS: Totals = {
  types: {},
  paid: {},
  unreadable: 0,
  deletedPaid: 0,
  deleted: {},
  memberships: 0,
  authors: 0,
  firstAt: null,
  lastAt: null,
};

const PAID: ReadonlySet<MessageType> = new Set<MessageType>(GROUPS.paid);
const TYPES: ReadonlySet<string> = new Set(MESSAGE_TYPES);
/** 72 bits: two of a million ids are confused with a probability of 10^-10. They begin with `markOf`. */
const HASH_LENGTH = 12;
/** Larger values are not read from any text. */
const MAX_VALUE = 1e15;

/** The sum as a number: exact in decimals up to 15 digits. */
export function sumOf(thousandths: string): number {
  const digits = thousandths.padStart(4, "0");
  return Number(`${digits.slice(0, -3)}.${digits.slice(-3)}`);
}

/**
 * Reads what the totals depend on. A damaged message counts for its times, and for the fields that can be
 * read. `base`: that of the room, as the cursors are counted.
 */
export function readBatch(messages: readonly TallyMessage[], base: number): TallyBatch {
  const counted = messages.map((message) => read(message, base));
  const blocks = new Set<number>();
  const keys = new Set<string>();
  const authors = new Set<string>();
  const firsts = new Set<string>();
  for (const { author, act, block, mark } of counted) {
    if (mark !== undefined) blocks.add(block);
    if (author !== undefined) keys.add(authorKey(author));
    if (act?.is === "author deletion") authors.add(act.author);
    else if (act) keys.add(act.key);
    if (act?.is === "deletion") firsts.add(act.key);
    if (act?.is === "payment" && act.first !== null) keys.add(act.first);
  }
  for (const block of blocks) keys.add(blockKey(block));
  return { counted, keys: [...keys], authors: [...authors], firsts: [...firsts] };
}

/** The totals with the batch, and the items to store. `held`: those items of the batch that are stored. */
export function addBatch(
  before: Totals,
  batch: TallyBatch,
  held: readonly TallyItem[],
): { totals: Totals; items: TallyItem[] } {
  const totals = structuredClone(before);
  const ledger = new Ledger(totals, held);
  for (const { at, type, author, memberships, act } of batch.counted) {
    totals.firstAt ??= at;
    totals.lastAt = at;
    if (type) totals.types[type] = (totals.types[type] ?? 0) + 1;
    totals.memberships += memberships;
    if (author !== undefined) ledger.addAuthor(author);
    if (act?.is === "payment") ledger.pay(act, author);
    else if (act?.is === "replacement") ledger.replace(act, author);
    else if (act?.is === "deletion") ledger.delete(act.key);
    else if (act) ledger.deleteAuthor(act.author);
  }
  return { totals, items: [...ledger.changed(), ...marked(batch.counted, held)] };
}

/** The blocks of the batch, with its marks. */
function marked(counted: readonly Counted[], held: readonly TallyItem[]): TallyItem[] {
  const blocks = new Map<number, Set<string>>();
  for (const { block, mark } of counted)
    if (mark !== undefined) blocks.getOrInsertComputed(block, () => new Set()).add(mark);
  const known = new Map(held.map(({ key, authors }) => [key, marksIn(authors ?? "")]));
  return [...blocks].map(([block, marks]) => {
    const key = blockKey(block);
    const all = new Set([...(known.get(key) ?? []), ...marks]);
    return { key, author: null, first: null, payment: null, authors: [...all].sort().join("") };
  });
}

type Held = Pick<TallyItem, "author" | "first"> & { payment: Payment };

/** Authors and payments, and their part of the totals. */
class Ledger {
  readonly #totals: Totals;
  /** The keys of the authors that were counted before, and that are new. */
  readonly #known = new Set<string>();
  readonly #new = new Set<string>();
  /** The payments by their keys, and the keys of those that changed. */
  readonly #payments = new Map<string, Held>();
  readonly #changed = new Set<string>();

  constructor(totals: Totals, held: readonly TallyItem[]) {
    this.#totals = totals;
    for (const { key, author, first, payment: stored } of held) {
      const payment = stored === null ? undefined : readPayment(stored);
      if (stored === null) this.#known.add(key);
      else if (payment) this.#payments.set(key, { author, first, payment });
    }
  }

  addAuthor(author: string): void {
    const key = authorKey(author);
    if (this.#known.has(key) || this.#new.has(key)) return;
    this.#new.add(key);
    this.#totals.authors += 1;
  }

  pay({ key, first, amount, isBlank }: Act & { is: "payment" }, author: string | undefined): void {
    const held = this.#held(key);
    const { payment } = held;
    if (payment.isSeen) return;
    payment.isSeen = true;
    const isFirstDeleted = first !== null && this.#payments.get(first)?.payment.isDeleted;
    if (payment.isDeleted || isFirstDeleted || isBlank) this.#countDeleted(amount);
    else {
      Object.assign(held, { author: author ?? null, first });
      Object.assign(payment, { isLive: true, amount });
      this.#count(amount, 1);
    }
  }

  /** New content changes the amount only if it has one: the money was paid nevertheless. */
  replace({ key, amount }: Act & { is: "replacement" }, author: string | undefined): void {
    const { payment } = this.#held(key);
    if (!payment.isSeen) this.pay({ is: "payment", key, first: null, amount, isBlank: false }, author);
    else if (payment.isLive) {
      this.#count(payment.amount, -1);
      payment.amount = amount;
      this.#count(amount, 1);
    }
  }

  /** The deletion of a message also applies to a message that comes later. */
  delete(key: string): void {
    this.#held(key).payment.isDeleted = true;
    this.#takeBack((held, its) => its === key || held.first === key);
  }

  /** The deletion of an author does not apply to later messages. */
  deleteAuthor(author: string): void {
    this.#takeBack((held) => held.author === author);
  }

  changed(): TallyItem[] {
    const none = { author: null, first: null, payment: null, authors: null };
    const authors = [...this.#new].map((key) => ({ ...none, key }));
    const payments = [...this.#changed].map((key) => {
      const { author, first, payment } = this.#held(key);
      return { key, author, first, payment: JSON.stringify(payment), authors: null };
    });
    return [...authors, ...payments];
  }

  /** The payment with this key, which is about to change. */
  #held(key: string): Held {
    this.#changed.add(key);
    return this.#payments.getOrInsertComputed(key, () => ({
      author: null,
      first: null,
      payment: { isSeen: false, isLive: false, amount: null, isDeleted: false },
    }));
  }

  /** Takes these payments out of the sums. Their amounts and authors are forgotten. */
  #takeBack(isTarget: (held: Held, key: string) => boolean): void {
    for (const [key, held] of this.#payments) {
      if (!held.payment.isLive || !isTarget(held, key)) continue;
      this.#changed.add(key);
      this.#count(held.payment.amount, -1);
      this.#countDeleted(held.payment.amount);
      Object.assign(held.payment, { isLive: false, amount: null });
      Object.assign(held, { author: null, first: null });
    }
  }

  /** Adds one payment to the sums, or takes it out. */
  #count(amount: Amount | null, sign: 1 | -1): void {
    if (amount) addTo(this.#totals.paid, amount, sign);
    else this.#totals.unreadable += sign;
  }

  #countDeleted(amount: Amount | null): void {
    this.#totals.deletedPaid += 1;
    if (amount) addTo(this.#totals.deleted, amount, 1);
  }
}

function addTo(sums: Sums, amount: Amount, sign: 1 | -1): void {
  const { count, thousandths } = sums[amount.currency] ?? { count: 0, thousandths: "0" };
  const sum = BigInt(thousandths) + BigInt(sign) * BigInt(amount.thousandths);
  if (count + sign > 0) sums[amount.currency] = { count: count + sign, thousandths: `${sum}` };
  else delete sums[amount.currency];
}

/** Undefined if it cannot be read. */
export function readPayment(stored: string): Payment | undefined {
  const payment = asObject(parseJson(stored));
  const flags = [payment?.isSeen, payment?.isLive, payment?.isDeleted];
  const { amount } = payment ?? {};
  const hasAmount =
    isWholeNumber(dig(amount, "thousandths")) && asString(dig(amount, "currency")) !== undefined;
  const isReadable = flags.every((flag) => typeof flag === "boolean") && (amount === null || hasAmount);
  return isReadable ? (payment as unknown as Payment) : undefined;
}

/** Whether the value is a whole number as text. */
export const isWholeNumber = (value: unknown): boolean =>
  typeof value === "string" && /^\d{1,30}$/.test(value);

function read(message: TallyMessage, base: number): Counted {
  const { at, cursor } = message;
  const [body, more] = [asObject(parseJson(message.body)), asObject(parseJson(message.details))];
  const [fields, details] = [body ?? {}, more ?? {}];
  const type = TYPES.has(String(fields.type)) ? (fields.type as MessageType) : undefined;
  const author = idHash(details.authorId);
  const isFoundByAll = type === "gap" || !isSound(message, body, more);
  return {
    at,
    type,
    author,
    memberships: type === "gift" ? giftCount(dig(details, "gift", "count")) : 0,
    act: type && actOf(type, fields, details),
    block: blockOf(cursor, base),
    mark: isFoundByAll ? FOUND_BY_ALL : author?.slice(0, MARK_LENGTH),
  };
}

function actOf(type: MessageType, fields: JsonObject, details: JsonObject): Act | undefined {
  const target = paymentKey(dig(details, "target", "messageId"));
  const { amount } = details;
  if (PAID.has(type)) {
    const key = paymentKey(fields.id);
    if (key === undefined) return undefined;
    const parts = asArray(fields.parts) ?? [];
    const shown = { author: "", message: "", amount: "", ...fields, parts } as unknown as Message;
    return { is: "payment", key, first: target ?? null, amount: amountOf(amount), isBlank: isBlank(shown) };
  }
  if (type === "author_deleted") {
    const author = idHash(dig(details, "target", "authorId"));
    return author === undefined ? undefined : { is: "author deletion", author };
  }
  if (target === undefined) return undefined;
  if (type === "deleted") return { is: "deletion", key: target };
  if (type !== "replaced" || amount === undefined) return undefined;
  return { is: "replacement", key: target, amount: amountOf(amount) };
}

/** Null if the value or the currency is unknown: a sum of unknown currencies has no meaning. */
function amountOf(amount: unknown): Amount | null {
  const [value, currency] = [dig(amount, "value"), dig(amount, "currency")];
  if (typeof currency !== "string" || !/^[A-Z]{3}$/.test(currency)) return null;
  if (typeof value !== "number" || !(value >= 0 && value < MAX_VALUE)) return null;
  return { currency, thousandths: value.toFixed(3).replace(".", "") };
}

/** A gift whose number cannot be read is one membership at least. */
function giftCount(count: unknown): number {
  return typeof count === "number" && Number.isSafeInteger(count) && count > 0 ? count : 1;
}

function idHash(id: unknown): string | undefined {
  const text = asString(id);
  return text === undefined ? undefined : hash("sha256", text, "base64url").slice(0, HASH_LENGTH);
}

function paymentKey(messageId: unknown): string | undefined {
  const id = idHash(messageId);
  return id === undefined ? undefined : `paid:${id}`;
}

const authorKey = (author: string) => `author:${author}`;
