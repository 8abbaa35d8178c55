/**
 * Polls: opened in a panel or a banner, updated as votes come in, closed. The id contains a hash of the
 * content, so a poll with unchanged content is the same message, and a room stores it once.
 */

import { asArray, asNumber, asObject, dig, omitUndefined } from "../../base/json.ts";
import type { Details } from "../../protocol/kinds.ts";
import type { Message, Part } from "../../protocol/message.ts";
import { BOUNDS } from "../bounds.ts";
import { event, shortHash, usableId } from "./event.ts";
import { type Panel, withPanel } from "./panels.ts";
import type { ActionTime, Context, Reader } from "./reader.ts";
import { partsOf, plainText, runsOf, wordsOf } from "./text.ts";

type Shown = NonNullable<Details["poll"]>;

export const pollOpened: Reader = (action, context) => {
  const panel = dig(action, "panelToShow", "liveChatActionPanelRenderer");
  const poll = dig(panel, "contents", "pollRenderer");
  if (!asObject(poll)) return "unknown";
  return showPoll(readPoll(poll, "open", dig(panel, "id")), context);
};

export const pollUpdated: Reader = (action, context) => {
  const poll = dig(action, "pollToUpdate", "pollRenderer");
  if (!asObject(poll)) return "unknown";
  const panel = readPoll(poll, "updated");
  const known = context.panels.find(({ pollId }) => pollId === panel.pollId);
  const showsItsOpening = known?.poll.state === "open" && hashOf(known.poll) === hashOf(panel.poll);
  if (showsItsOpening) return "silent";
  return showPoll({ ...panel, panelId: known?.panelId ?? panel.panelId }, context);
};

/** A message only if the poll was shown: the action itself carries no content. */
export const pollClosed: Reader = (action, context) =>
  closing(usableId(dig(action, "targetPanelId")), context) ?? "silent";

/** The closed poll of a panel, or of a banner; undefined if neither showed one. */
export function closing(panelId: string, context: Context): Message | undefined {
  const known = context.panels.find((panel) => panel.panelId === panelId);
  return known && closedPoll(known, context);
}

export function closedPoll(panel: Omit<Panel, "panelId">, moment: ActionTime): Message {
  return messageOf({ ...panel, poll: { ...panel.poll, state: "closed" } }, moment);
}

/** A banner's poll shows no votes. It has the banner's id, and closes when that is removed. */
export const pollInBanner: Reader = (poll, context) => {
  const question = partsOf(dig(poll, "pollQuestion"), BOUNDS.questionLength);
  const choices = choicesOf(dig(poll, "pollChoices"));
  const pollId = usableId(context.around.id);
  const shown: Shown = { question: plainText(question), choices, state: "open" };
  return showPoll({ panelId: pollId, pollId, question, poll: shown }, context);
};

function showPoll(panel: Panel, context: Context) {
  return { item: { message: messageOf(panel, context) }, panels: withPanel(context.panels, panel) };
}

function messageOf({ pollId, question, poll }: Omit<Panel, "panelId">, moment: ActionTime): Message {
  return event(`poll:${pollId}:${hashOf(poll)}`, moment, {
    type: "poll",
    parts: [...question],
    details: { poll },
  });
}

/** Open and updated count as the same state, closed as another. */
function hashOf(poll: Panel["poll"]): string {
  return shortHash({ ...poll, state: poll.state === "closed" ? "closed" : "open" });
}

/** `panelId`: an id other than the poll's own, which has not been seen yet. */
function readPoll(poll: unknown, state: Shown["state"], panelId?: unknown): Panel {
  const pollId = usableId(dig(poll, "liveChatPollId") ?? panelId);
  const header = dig(poll, "header", "pollHeaderRenderer");
  const question: Part[] = partsOf(dig(header, "pollQuestion"), BOUNDS.questionLength);
  const votes = votesIn(dig(header, "metadataText"));
  return {
    panelId: usableId(panelId ?? pollId),
    pollId,
    question,
    poll: {
      question: plainText(question),
      choices: choicesOf(dig(poll, "choices")),
      ...(votes === undefined ? {} : { votes }),
      state,
    },
  };
}

/** Before the first vote a choice has neither ratio nor percentage. */
function choicesOf(choices: unknown): Shown["choices"] {
  return (asArray(choices) ?? []).slice(0, BOUNDS.choices).map((choice) => ({
    text: wordsOf(dig(choice, "text")),
    ...omitUndefined({
      ratio: asNumber(dig(choice, "voteRatio")),
      percent: percentIn(dig(choice, "votePercentage")),
    }),
  }));
}

/** Undefined unless it is a number: `<1%` is not. */
function percentIn(text: unknown): number | undefined {
  const [, digits] = /^[^\d<>]{0,3}(\d{1,3}(?:[.,]\d{1,3})?)\D{0,3}$/.exec(wordsOf(text, 20)) ?? [];
  return asNumber(digits?.replace(",", "."));
}

/**
 * The number of votes (`13,869 votes`): it follows the channel's name and the poll's age, behind a bullet or
 * in a run of its own. Undefined unless it is a whole number, such as for `1.3K votes`.
 */
function votesIn(metadata: unknown): number | undefined {
  const behindBullet = /•([^•]*)$/.exec(wordsOf(metadata))?.[1];
  const text = behindBullet ?? wordsOf({ runs: runsOf(metadata).slice(-1) }, 100);
  const [digits] = /^(?:\d{1,3}(?:[.,'’\s]\d{3}){1,4}|\d{1,15})(?![\d.,A-Za-z])/.exec(text.trim()) ?? [];
  return asNumber(digits?.replaceAll(/\D/g, ""));
}
