/**
 * The filter of a viewer: types of messages, a minimum tier or amount of paid ones, and badges of authors.
 * Viewers with equal filters share the messages that are read and the frames that are packed for them, by the
 * filter's key.
 */
import { dig, parseJson } from "../base/json.ts";
import { type BADGES, GROUPS } from "../protocol/kinds.ts";
import type { EncodedMessage } from "../store/stored-message.ts";
import { ALL, filterOf, GAP, type TypeFilter, typeBit } from "./type-filter.ts";

/** What selects messages beside their types. */
export interface Worth {
  /** Paid messages below this tier, 1 to 7, or without one, are left out. */
  minTier?: number | undefined;
  /** Paid messages below this amount are left out; so are those of another currency, and unreadable ones. */
  minAmount?: { value: number; currency: string } | undefined;
  /** Only messages of authors with one of these badges, and `ALWAYS`; in the order of `BADGES`. */
  badges?: readonly (typeof BADGES)[number][] | undefined;
}

type Test = (message: EncodedMessage) => boolean;

/** Deletions and replacements concern messages that were let through before, and a gap has no author. */
const ALWAYS = filterOf(GROUPS.moderation);
const PAID = filterOf(GROUPS.paid) & ~GAP;

/** The test for messages that pass; undefined if all do. */
export function worthTest({ minTier, minAmount, badges }: Worth): Test | undefined {
  const ofPaid: ((details: unknown) => boolean)[] = [];
  if (minTier !== undefined) ofPaid.push((details) => Number(dig(details, "tier") ?? 0) >= minTier);
  if (minAmount) ofPaid.push((details) => reaches(dig(details, "amount"), minAmount));
  if (ofPaid.length === 0 && !badges) return undefined;
  return (message) => {
    const bit = typeBit(message);
    if (bit & ALWAYS) return true;
    const tests = bit & PAID ? ofPaid : [];
    if (!badges && tests.length === 0) return true;
    if (badges && !message.details.includes('"badges"')) return false;
    const details = parseJson(message.details);
    return (!badges || hasBadge(details, badges)) && tests.every((test) => test(details));
  };
}

function reaches(amount: unknown, { value, currency }: NonNullable<Worth["minAmount"]>): boolean {
  return dig(amount, "currency") === currency && Number(dig(amount, "value") ?? Number.NaN) >= value;
}

function hasBadge(details: unknown, kinds: readonly string[]): boolean {
  const badges = dig(details, "badges");
  return Array.isArray(badges) && badges.some((badge) => kinds.includes(String(dig(badge, "kind"))));
}

export class MessageFilter {
  static readonly everything = new MessageFilter(ALL);
  readonly types: TypeFilter;
  readonly key: string;
  /** The types that a backfill counts: with a filter, `gap` only if it is the only one that was asked for. */
  readonly counted: TypeFilter;
  readonly #isWorth: Test | undefined;

  constructor(types: TypeFilter, worth: Worth = {}) {
    const { minTier = "", minAmount, badges = [] } = worth;
    const amount = minAmount ? `${minAmount.value}${minAmount.currency}` : "";
    this.types = types;
    this.key = [types, minTier, amount, badges.join()].join(" ").trimEnd();
    this.#isWorth = worthTest(worth);
    this.counted = this.isEverything ? ALL : types & ~GAP || GAP;
  }

  get isEverything(): boolean {
    return this.types === ALL && this.isOfTypes;
  }

  /** Whether the type alone decides. */
  get isOfTypes(): boolean {
    return this.#isWorth === undefined;
  }

  /** `bit`: that of the message's type, if it is at hand. */
  passes(message: EncodedMessage, bit = typeBit(message)): boolean {
    return this.#selects(message, bit & this.types);
  }

  /** Whether a backfill counts the message. */
  counts(message: EncodedMessage, bit = typeBit(message)): boolean {
    return this.#selects(message, bit & this.counted);
  }

  /** `bit`: that of the message's type, if it is one that was asked for. */
  #selects(message: EncodedMessage, bit: TypeFilter): boolean {
    return bit !== 0 && (!this.#isWorth || this.#isWorth(message));
  }
}
