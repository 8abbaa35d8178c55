/** Types of messages as a set of bits, one for each type, so that a message is tested by one operation. */
import { MESSAGE_TYPES } from "../protocol/kinds.ts";
import { type EncodedMessage, isRare, typeOf } from "../store/stored-message.ts";

export type TypeFilter = number;

/** Everything, even types that this version does not know. */
export const ALL: TypeFilter = -1;

const BITS: ReadonlyMap<string, number> = new Map(MESSAGE_TYPES.map((type, index) => [type, 1 << index]));
/** One bit for all types that this version does not know; only `ALL` contains it. */
const UNKNOWN = 1 << 31;
export const GAP = bitOf("gap");
/** The types that no index finds. */
const FREQUENT = MESSAGE_TYPES.filter((type) => !isRare(type)).reduce((bits, type) => bits | bitOf(type), 0);

function bitOf(type: string): number {
  return BITS.get(type) ?? UNKNOWN;
}

/** The bit of the message's type. */
export function typeBit(message: EncodedMessage): number {
  return bitOf(typeOf(message));
}

/** The filter for these types, at least one. A `gap` passes, too. */
export function filterOf(types: readonly string[]): TypeFilter {
  return types.reduce((filter, type) => filter | bitOf(type), GAP);
}

/** The types of a filter that lets only rare ones through; undefined for any other. */
export function rareTypesOf(filter: TypeFilter): readonly string[] | undefined {
  if (filter & FREQUENT) return undefined;
  return MESSAGE_TYPES.filter((type) => bitOf(type) & filter);
}
