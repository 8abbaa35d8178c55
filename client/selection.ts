/** Which types of messages a list of types and groups lets through. */
import { GROUPS, MESSAGE_TYPES } from "../src/protocol/kinds.ts";

/** Names that are neither are left out; if none remains, everything is let through. */
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
