/**
 * The panels of a chat's latest polls. The action that closes a panel names only the panel, so its latest
 * content is kept across answers, and also after it has closed, because the action may be read again.
 * Immutable: an update returns a new list.
 */

import { asArray, asObject, asString } from "../../base/json.ts";
import type { Details } from "../../protocol/kinds.ts";
import type { Part } from "../../protocol/message.ts";
import { BOUNDS } from "../bounds.ts";

export interface Panel {
  panelId: string;
  pollId: string;
  question: readonly Part[];
  /** The latest content of the poll. */
  poll: Readonly<NonNullable<Details["poll"]>>;
}

/** The most recently updated panel is last. */
export type Panels = readonly Panel[];

export const NO_PANELS: Panels = [];

/** Adds the panel, or replaces the one with its id. */
export function withPanel(panels: Panels, panel: Panel): Panels {
  const others = panels.filter(({ panelId }) => panelId !== panel.panelId);
  return [...others, panel].slice(-BOUNDS.panels);
}

/** Reads panels from JSON; undefined if any of them is invalid. */
export function toPanels(stored: unknown): Panels | undefined {
  const panels = asArray(stored);
  return panels?.every(isPanel) ? panels.slice(-BOUNDS.panels) : undefined;
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
