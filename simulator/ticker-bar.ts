/**
 * The tickers above a live chat: payments, members and gifts, each for its time. A page, and the
 * first answer to a token that a page's menu gives, show them all, however long ago their messages were sent.
 */
import { dig, isObject, type JsonObject } from "./plain-json.ts";

interface Standing {
  action: JsonObject;
  /** Monotonic milliseconds. */
  until: number;
}

export class TickerBar {
  /** By the id of the message that each repeats, the oldest first. */
  readonly #standing = new Map<string, Standing>();

  /** The tickers at `nowMs` (monotonic) with the seconds that they have left, except the listed ones. */
  actionsBeside(listed: readonly { action: JsonObject }[], nowMs: number): JsonObject[] {
    const actions = new Set(listed.map(({ action }) => action));
    for (const [id, { until }] of this.#standing) if (until <= nowMs) this.#standing.delete(id);
    return [...this.#standing.values()].flatMap(({ action, until }) =>
      actions.has(action) ? [] : [withSecondsLeft(action, Math.ceil((until - nowMs) / 1000))],
    );
  }

  /** An action that is said at `nowMs` (monotonic). */
  hear(action: JsonObject, nowMs: number): void {
    const ticker = tickerIn(action);
    if (ticker)
      this.#standing.set(String(ticker.id), { action, until: nowMs + Number(ticker.durationSec) * 1000 });
    for (const key of ["removeChatItemAction", "markChatItemAsDeletedAction"])
      this.#standing.delete(String(dig(action, key, "targetItemId")));
    for (const key of ["removeChatItemByAuthorAction", "markChatItemsByAuthorAsDeletedAction"])
      this.#dropAuthor(dig(action, key, "externalChannelId"));
  }

  #dropAuthor(channelId: unknown): void {
    if (channelId === undefined) return;
    for (const [id, { action }] of this.#standing)
      if (tickerIn(action)?.authorExternalChannelId === channelId) this.#standing.delete(id);
  }
}

function tickerIn(action: JsonObject): JsonObject | undefined {
  const item = dig(action, "addLiveChatTickerItemAction", "item");
  return isObject(item) ? Object.values(item).find(isObject) : undefined;
}

function withSecondsLeft(action: JsonObject, seconds: number): JsonObject {
  const added = action.addLiveChatTickerItemAction;
  const item = dig(added, "item");
  if (!isObject(added) || !isObject(item)) return action;
  const left = Object.entries(item).map(([key, ticker]) => [
    key,
    isObject(ticker) ? { ...ticker, durationSec: seconds } : ticker,
  ]);
  const shown = { ...added, item: Object.fromEntries(left), durationSec: String(seconds) };
  return { ...action, addLiveChatTickerItemAction: shown };
}
