/**
 * Reads the parameters by which a query selects messages: `types`, `minTier`, `minAmount` and `badges`. It
 * refuses an unknown name, and a value of another form, with INVALID_REQUEST.
 */
import { MAX_NAME_LENGTH, suggestOrList } from "../base/suggest.ts";
import { invalidRequest } from "../protocol/errors.ts";
import { BADGES, typeNames, typesOf } from "../protocol/kinds.ts";
import { MessageFilter, type Worth } from "../serving/message-filter.ts";
import { ALL, filterOf, type TypeFilter } from "../serving/type-filter.ts";
import type { FilterQuery } from "./schemas/schemas.ts";

const MIN_TIERS = /^[1-7]$/;
const AMOUNT = /^(\d{1,9}(?:\.\d{1,6})?) ?([a-z]{3})$/i;

/** Throws `RelayError` INVALID_REQUEST. No types at all ask for everything. */
export function filterAsked(query: FilterQuery): MessageFilter {
  return new MessageFilter(query.types?.trim() ? typesIn(query.types) : ALL, worthIn(query));
}

/** The types of a comma-separated list of types and groups. Throws `RelayError` INVALID_REQUEST. */
export function typesIn(list: string): TypeFilter {
  return filterOf(
    namesIn(list).flatMap((name) => {
      const found = typesOf(name);
      if (found.length > 0) return found;
      throw invalidRequest(
        `types: "${name}" is not a type or group of messages${suggestOrList(name, typeNames())}`,
      );
    }),
  );
}

/** Throws `RelayError` INVALID_REQUEST. */
export function worthIn({ minTier, minAmount, badges }: FilterQuery): Worth {
  if (minTier !== undefined && !MIN_TIERS.test(minTier))
    throw invalidRequest("minTier: must be a whole number from 1 to 7.");
  const [, value, currency] = AMOUNT.exec(minAmount ?? "") ?? [];
  if (minAmount !== undefined && !currency)
    throw invalidRequest("minAmount: must be an amount and a currency, such as 5EUR.");
  return {
    ...(minTier !== undefined && { minTier: Number(minTier) }),
    ...(currency && { minAmount: { value: Number(value), currency: currency.toUpperCase() } }),
    ...(badges !== undefined && { badges: badgesIn(badges) }),
  };
}

function badgesIn(list: string) {
  const names = namesIn(list);
  const unknown = names.find((name) => !BADGES.some((badge) => badge === name));
  if (unknown !== undefined)
    throw invalidRequest(`badges: "${unknown}" is not a badge${suggestOrList(unknown, BADGES)}`);
  return BADGES.filter((badge) => names.includes(badge));
}

function namesIn(list: string): string[] {
  return list.split(",").map((name) => name.trim().slice(0, MAX_NAME_LENGTH));
}
