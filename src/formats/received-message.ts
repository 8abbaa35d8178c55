/**
 * A message as its readers have it: with its cursor, and with its video where it is one of several chats. Its
 * details may be those of any type, because a newer service may send types of its own.
 */
import type { Details } from "../protocol/kinds.ts";
import type { Message } from "../protocol/message.ts";

export type ReceivedMessage = Omit<Message, "details"> & {
  cursor: number;
  videoId?: string;
  details?: Details;
};

type Choice = NonNullable<Details["poll"]>["choices"][number];

/** The choices of a poll as one text, such as `Yes 40 % | No 60 %`. */
export function choicesText(choices: readonly Choice[]): string {
  return choices
    .map(({ text, percent }) => (percent === undefined ? text : `${text} ${percent} %`))
    .join(" | ");
}
