/**
 * Selects stored messages without parsing them where possible: a search in their text rules most of them out,
 * and only the rest is parsed for an exact answer.
 */
import { dig, parseJson } from "../../base/json.ts";
import { foldCase } from "../../protocol/fold-case.ts";
import type { EightFields } from "../../protocol/message.ts";
import { wholeText } from "../../protocol/whole-text.ts";
import { type StoredMessage, typeOf } from "../../store/stored-message.ts";
import { type Worth, worthTest } from "../message-filter.ts";
import { ALL, rareTypesOf, type TypeFilter, typeBit } from "../type-filter.ts";

export interface HistoryFilter extends Worth {
  types?: TypeFilter;
  /** The channel id of the messages' author. */
  authorId?: string | undefined;
  /** A part of the messages' words or of their author's name, as `foldCase` compares them. */
  anyText?: string | undefined;
  /** A part of the messages' words alone. */
  text?: string | undefined;
}

type Test = (message: StoredMessage) => boolean;

/**
 * The test for messages that pass all parts of the filter, and for messages of type `gap`, which always pass.
 * Undefined if the filter is empty.
 */
export function testOf({ types = ALL, authorId, anyText, text, ...worth }: HistoryFilter): Test | undefined {
  const tests: Test[] = [];
  const isWorth = worthTest(worth);
  if (isWorth) tests.push(isWorth);
  if (types !== ALL) tests.push((message) => (typeBit(message) & types) !== 0);
  if (authorId !== undefined) tests.push(isBy(authorId));
  if (anyText !== undefined) tests.push(contains(anyText, (author, words) => [author, ...words]));
  if (text !== undefined) tests.push(contains(text, (_, words) => words));
  if (tests.length === 0) return undefined;
  return (message) => typeOf(message) === "gap" || tests.every((test) => test(message));
}

/** Whether all messages that are read for the filter pass. */
export function isFoundAtOnce({ types = ALL, ...others }: HistoryFilter): boolean {
  return (types === ALL || rareTypesOf(types) !== undefined) && testOf(others) === undefined;
}

function isBy(authorId: string): Test {
  const quoted = JSON.stringify(authorId);
  return ({ details }) => details.includes(quoted) && dig(parseJson(details), "authorId") === authorId;
}

function mayShorten(body: string): boolean {
  return body.includes('"kind":"link"') && /(?:…|\.\.\.)"/.test(body);
}

/** `textsOf`: the texts that may contain it, of the author and the words. */
function contains(text: string, textsOf: (author: string, words: string[]) => string[]): Test {
  const sought = foldCase(text);
  return ({ body }) => {
    // Without escapes and shortened links, the body has every text of the message as it is.
    if (!body.includes("\\") && !mayShorten(body) && !foldCase(body).includes(sought)) return false;
    const { author, message, parts }: EightFields = JSON.parse(body);
    return textsOf(author, [message, wholeText({ message, parts })]).some((text) =>
      foldCase(text).includes(sought),
    );
  };
}
