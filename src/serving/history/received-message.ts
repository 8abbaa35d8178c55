/**
 * A message as its readers have it: with its cursor, and with its video where it is one of several chats. Its
 * details may be those of any type, because a newer service may send types of its own.
 */
import type { Details } from "../../protocol/kinds.ts";
import type { Message } from "../../protocol/message.ts";

export type ReceivedMessage = Omit<Message, "details"> & {
  cursor: number;
  videoId?: string;
  details?: Details;
};

type Choice = NonNullable<Details["poll"]>["choices"][number];

/** The choices of a poll as one text, such as `Yes 40 % | No 60 % | Maybe <1 %`. */
export function choicesText(choices: readonly Choice[]): string {
  return choices.map((choice) => `${choice.text} ${shareOf(choice)}`.trimEnd()).join(" | ");
}

/** Like the upstream, in whole percent; "" before the first vote. */
function shareOf({ percent, ratio }: Choice): string {
  if (percent === undefined && ratio === undefined) return "";
  const rounded = Math.round((ratio ?? 0) * 100);
  return `${percent ?? (rounded === 0 && ratio !== 0 ? "<1" : rounded)} %`;
}
