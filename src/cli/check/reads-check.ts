/**
 * Whether the service reads a video's chat today: an egress bootstraps it as for a room, step by step, and
 * asks once more with the token of the first answer.
 */
import type { Clock } from "../../base/clock.ts";
import { isReplayChat } from "../../protocol/chat.ts";
import type { Absence } from "../../protocol/chat-standing.ts";
import { RelayError } from "../../protocol/errors.ts";
import type { Egress } from "../../upstream/egress/egress.ts";
import type { BootstrappedChat, PollAnswer } from "../../upstream/live-chat.ts";
import { isUnreached, UpstreamError } from "../../upstream/upstream-error.ts";
import type { Tell } from "./finding.ts";
import { rateOf } from "./message-rate.ts";

/** The longest wait for the next answer, in milliseconds. */
const MAX_WAIT_MS = 10_000;
const DEFAULT_WAIT_MS = 1000;

const CHANGED =
  "YouTube may have changed: look for a newer version, else send the file of --report to the maintainers";

/** What to do about a chat that is not there. */
const ABSENT: Record<Absence["is"], string> = {
  over: "Its stream has ended: check a video that is live",
  off: "The service waits for it: check a video whose chat is open",
  hidden: "The service does not sign in: check a public video",
  none: "Check the id, and a video that is live",
  unknown: "Check another video: if it is the same there, YouTube distrusts this address, or has changed",
};

interface Check {
  egress: Egress;
  videoId: string;
  clock: Clock;
  tell: Tell;
  signal: AbortSignal;
}

/** Rejects with the reason of `signal`. */
export async function checkReading(check: Check): Promise<void> {
  const { egress, videoId, tell, signal } = check;
  try {
    const options = { lane: "opening", maxCooldownMs: 0, signal } as const;
    const standing = await egress.liveChat.bootstrap(videoId, options);
    if (standing.is === "there") return await checkChat(check, standing);
    const { is, why } = standing;
    tell({ state: "fail", of: "reads", text: `no: no chat (${is})`, quoted: why, advice: ABSENT[is] });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof UpstreamError || error instanceof RelayError)) throw error;
    const code = error instanceof RelayError ? error.code : error.fault;
    const isOfAddress = isUnreached(error) || code === "throttled";
    const advice = isOfAddress ? "See the lines above, and check the egress" : CHANGED;
    tell({ state: "fail", of: "reads", text: `no (${code})`, quoted: error.message, advice });
  }
}

async function checkChat(check: Check, { page, first }: BootstrappedChat): Promise<void> {
  const { videoId, tell } = check;
  const { pair, chatType } = page.position;
  const isReplay = isReplayChat(chatType);
  tell({ state: "ok", of: "chat", text: isReplay ? "a replay" : "a live chat" });
  tell({ state: "ok", of: "pair", text: `${pair.client} ${pair.endpoint}` });
  const { view, continuation } = first.position;
  const quoted = first.inTopBecause;
  if (quoted === undefined) tell({ state: "ok", of: "view", text: `${view} messages` });
  else
    tell({
      state: "warn",
      of: "view",
      text: "Top chat alone: messages are missing",
      quoted,
      advice: CHANGED,
    });
  const next = await nextAnswer(check, first);
  const items = [...page.items, ...first.items, ...(next?.items ?? [])];
  const rate = rateOf(items, isReplay, (next ?? first).sentAt);
  if (rate) {
    const perMinute = rate.perMinute < 10 ? rate.perMinute.toFixed(1) : Math.round(rate.perMinute);
    const where = isReplay ? " at the beginning of the video" : "";
    const text = `about ${perMinute} messages a minute${where}, by the times of ${rate.messages}`;
    tell({ state: "ok", of: "pace", text });
  } else tell({ state: "ok", of: "pace", text: "no message with a time was shown" });
  if (next || continuation === null)
    tell({
      state: "ok",
      of: "reads",
      text: `yes: ${view === "all" ? "all messages" : "Top chat"} of ${videoId}`,
    });
  else {
    const advice = `If the stream has just ended, check another. ${CHANGED}`;
    tell({ state: "fail", of: "reads", text: "no: the second answer has no chat", advice });
  }
}

/** Undefined if the chat has no next token, or its answer no chat. */
async function nextAnswer(
  { egress, videoId, clock, signal }: Check,
  { position, timeoutMs = DEFAULT_WAIT_MS }: PollAnswer,
): Promise<PollAnswer | undefined> {
  if (position.continuation === null) return undefined;
  await clock.sleep(Math.min(timeoutMs, MAX_WAIT_MS), signal);
  const answer = await egress.liveChat.nextAnswer(videoId, position, {
    lane: "opening",
    maxCooldownMs: 0,
    signal,
  });
  return answer.kind === "batch" ? answer : undefined;
}
