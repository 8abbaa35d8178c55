/** Decides by a list of types and groups which messages to hand out. */
import { GROUPS, MESSAGE_TYPES } from "../src/protocol/kinds.ts";

/** Ignores names that are neither a type nor a group. If no name remains, every type is wanted. */
export function selectTypes(types: readonly string[] | undefined): (type: string) => boolean {
  const groups: Record<string, readonly string[]> = GROUPS;
  const names = String(types ?? "")
    .split(",")
    .map((name) => name.trim());
  const known = new Set(
    names
      .flatMap((name) => (Object.hasOwn(groups, name) ? (groups[name] ?? []) : name))
      .filter((type) => MESSAGE_TYPES.some((known) => known === type)),
  );
  return (type) => known.size === 0 || type === "gap" || known.has(type);
}
