/** Filters of both pages besides the types: by the author's badges, by payments, and by links. */
import { GROUPS } from "../../client/index.ts";
import { BADGES } from "../../src/protocol/kinds.ts";
import { isPaid, type Money, moneyIn, reaches } from "./amounts.ts";
import type { Parameters } from "./parameters.ts";
import type { ShownMessage } from "./shown-message.ts";

/** An absent filter lets everything through. */
export interface Filters {
  /** Only what authors with one of these have said. */
  badges?: readonly string[];
  /** Paid messages below it are left out: 1 to 7. */
  minTier?: number;
  /** Paid messages below it, and those of another currency, are left out. */
  minAmount?: Money;
  /** Only messages with a link. */
  only?: "links";
}

/** Passes any filter: what moderators do, and the places of missing messages. */
const PASSES: ReadonlySet<string> = new Set([...GROUPS.moderation, "gap"]);
export const TIERS = { min: 1, max: 7, isWhole: true } as const;

export function readFilters(parameters: Parameters): Filters {
  const kinds: readonly string[] = BADGES;
  const badges = parameters.list("badges").filter((kind) => kinds.includes(kind));
  const refused = parameters.list("badges").filter((kind) => !kinds.includes(kind));
  if (refused.some((word) => word !== "on" && word !== "off"))
    parameters.refuse("badges", `use some of ${kinds.join(", ")}`);
  const minTier = parameters.number("minTier", TIERS, undefined);
  const minAmount = amountIn(parameters, "minAmount");
  const only = parameters.oneOf("only", ["", "links"]);
  return {
    ...(badges.length > 0 && { badges }),
    ...(minTier !== undefined && { minTier }),
    ...(minAmount && { minAmount }),
    ...(only && { only }),
  };
}

/** An amount such as `5EUR`. */
export function amountIn(parameters: Parameters, name: string): Money | undefined {
  const found = moneyIn(parameters.text(name));
  if (!found && parameters.text(name) !== "") parameters.refuse(name, "use an amount such as 5EUR");
  return found;
}

export function passes({ badges, minTier, minAmount, only }: Filters, message: ShownMessage): boolean {
  const { type, details, parts } = message;
  if (PASSES.has(type)) return true;
  if (badges && !details.badges?.some(({ kind }) => badges.includes(kind))) return false;
  if (only && !parts.some(({ kind }) => kind === "link")) return false;
  if (!isPaid(message)) return true;
  return (!minTier || (details.tier ?? 0) >= minTier) && (!minAmount || reaches(message, minAmount));
}
