/** Decides by a list of types and groups which messages to hand out. */
import { typesOf } from "../src/protocol/kinds.ts";

/** Ignores names that are neither a type nor a group. If no name remains, every type is wanted. */
export function selectTypes(types: readonly string[] | undefined): (type: string) => boolean {
  const names = `${types ?? ""}`.split(",");
  const known: string[] = names.flatMap((name) => typesOf(name.trim()));
  return (type) => !known[0] || type === "gap" || known.includes(type);
}
