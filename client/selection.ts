/** Decides by a list of types and groups which messages to ask for, and to hand out. */
import { typesOf } from "../src/protocol/kinds.ts";

/** The names of the list that are a type or a group: the service refuses others. Empty for all types. */
export function knownNames(types: readonly string[] | undefined): string[] {
  return `${types}`.split(/[\s,]/).filter((name) => typesOf(name)[0]);
}

/** `names`: as `knownNames` returns them. */
export function isWanted(type: string, names: readonly string[]): boolean {
  return !names[0] || type === "gap" || names.flatMap(typesOf).includes(type as never);
}
