/** What raw actions are read as, with the messages of the items at hand. */
import { readActions } from "../../src/upstream/readers/actions.ts";
import { timeOfDay } from "../../src/upstream/readers/timestamp.ts";

export const UTC = timeOfDay("UTC");

export function readMessages(...[actions, context]: Parameters<typeof readActions>) {
  const reading = readActions(actions, context);
  return { ...reading, messages: reading.items.map(({ message }) => message) };
}
