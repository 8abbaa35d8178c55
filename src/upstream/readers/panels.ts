/**
 * The panels of a chat's latest polls. The action that closes one names its panel alone, so what a panel showed last is
 * remembered from answer to answer, after its closing too: it may be read again. Immutable: what a panel shows makes a
 * new list.
 */

import { asArray, asObject, asString } from "../../json.ts";
import type { Details } from "../../protocol/kinds.ts";
import type { Part } from "../../protocol/message.ts";
import { BOUNDS } from "../bounds.ts";

export interface Panel {
  panelId: string;
  pollId: string;
  question: readonly Part[];
  /** As it was shown last. */
  poll: Readonly<NonNullable<Details["poll"]>>;
}

/** The one that showed something last stands last. */
export type Panels = readonly Panel[];

export const NO_PANELS: Panels = [];

/** The panels once this one shows what it shows now. */
export function withPanel(panels: Panels, panel: Panel): Panels {
  const others = panels.filter(({ panelId }) => panelId !== panel.panelId);
  return [...others, panel].slice(-BOUNDS.panels);
}

/** Panels from JSON that was made from panels; anything else in it is left out. */
export function toPanels(stored: unknown): Panels {
  return (asArray(stored) ?? []).filter(isPanel).slice(-BOUNDS.panels);
}

function isPanel(value: unknown): value is Panel {
  const panel = asObject(value);
  const poll = asObject(panel?.poll);
  return (
    asString(panel?.panelId) !== undefined &&
    asString(panel?.pollId) !== undefined &&
    asArray(panel?.question) !== undefined &&
    asString(poll?.question) !== undefined &&
    asArray(poll?.choices) !== undefined
  );
}
