/**
 * The polls that are open in a chat. The action that closes one names its panel alone, so what a panel showed
 * last is remembered from answer to answer. Immutable: opening or closing a panel makes a new list.
 */

import { asArray, asObject, asString } from "../../json.ts";
import type { Details } from "../../protocol/kinds.ts";
import type { Part } from "../../protocol/message.ts";
import { BOUNDS } from "../bounds.ts";

export interface OpenPanel {
  panelId: string;
  pollId: string;
  question: readonly Part[];
  /** As it was shown last. */
  poll: Readonly<NonNullable<Details["poll"]>>;
}

/** Oldest first. */
export type OpenPanels = readonly OpenPanel[];

export const NO_PANELS: OpenPanels = [];

/** The panels once this one shows what it shows now. */
export function withPanel(panels: OpenPanels, panel: OpenPanel): OpenPanels {
  return [...withoutPanel(panels, panel.panelId), panel].slice(-BOUNDS.panels);
}

export function withoutPanel(panels: OpenPanels, panelId: string): OpenPanels {
  return panels.filter((open) => open.panelId !== panelId);
}

/** Panels from JSON that was made from panels; anything else in it is left out. */
export function toPanels(stored: unknown): OpenPanels {
  return (asArray(stored) ?? []).filter(isPanel).slice(-BOUNDS.panels);
}

function isPanel(value: unknown): value is OpenPanel {
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
