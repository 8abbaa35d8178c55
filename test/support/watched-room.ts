/**
 * A relay with one room, of a chat of plain text, and a viewer in it who has been sent all that was said so
 * far.
 */
import type { Scenario } from "../../simulator/scenario.ts";
import { startRelay, type TestRelayOptions } from "./relay.ts";
import { Stream, type StreamOptions } from "./stream.ts";

export const VIDEO = "watched-one";
export const TEXT = { kinds: ["text"], timeoutMs: 5 } as const satisfies Partial<Scenario>;

export async function watchedRoom(
  said: number,
  settings: TestRelayOptions["settings"] = {},
  scenario: Partial<Scenario> = {},
) {
  await using stack = new AsyncDisposableStack();
  const relay = stack.use(await startRelay({ settings }));
  const { upstream } = relay;
  const chat = upstream.chat(VIDEO, { ...TEXT, ...scenario });
  chat.say(said);
  const open = (options: Partial<StreamOptions> = {}) =>
    Stream.open(relay.url, { videoId: VIDEO, ...options });
  const viewer = stack.use(await open());
  await viewer.untilMessages(said);
  const owned = stack.move();
  return {
    relay,
    upstream,
    chat,
    viewer,
    /** Opens another stream of the room. */
    open,
    /** The ids of all that the chat said, in order. */
    ids: () => chat.ledger.map(({ id }) => id),
    /** How often the room, or a room before it, was bootstrapped. */
    bootstraps: () =>
      upstream.requests.filter(({ kind, videoId }) => kind === "popout" && videoId === VIDEO).length,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
