/**
 * The filters that the viewers of a run ask for (`types`), and the types that each lets through, spelled out
 * for the judges. A `gap` always passes.
 */

export interface Filter {
  types: string;
  /** Undefined: everything passes. */
  passed: readonly string[] | undefined;
}

export const EVERYTHING: Filter = { types: "", passed: undefined };

export const FILTERS: readonly Filter[] = [
  { types: " ", passed: undefined },
  { types: "superchat", passed: ["superchat"] },
  { types: " paid , superchat", passed: ["superchat", "supersticker", "jewels", "donation"] },
  { types: "chat,members", passed: ["chat", "membership", "milestone", "gift", "gift_received"] },
  { types: "deleted,notices", passed: ["deleted", "raid", "summary", "notice", "mode", "product"] },
  { types: "raid", passed: ["raid"] },
  { types: "gap", passed: [] },
];

/** Whether a viewer with the filter must be sent messages of this type. */
export function passes({ passed }: Filter, type: string): boolean {
  return passed === undefined || type === "gap" || passed.includes(type);
}
