/** Tries every client with every endpoint for one video, in turn, and reports each outcome. */
import { ChatAbsent } from "../protocol/chat-standing.ts";
import { ALL_PAIRS, type ClientLabel, type Pair } from "./clients.ts";
import type { Egress } from "./egress/egress.ts";
import type { LiveChat } from "./live-chat.ts";
import { UpstreamError } from "./upstream-error.ts";

/** The longest cooldown that a probe waits for. */
const MAX_COOLDOWN_MS = 60_000;

export interface ProbeRow {
  label: ClientLabel;
  endpoint: Pair["endpoint"];
  /** Whether the attempt returned a parseable chat response. */
  ok: boolean;
  /** Raw chat actions returned, whatever their schema. */
  actions: number;
  error: string | null;
}

/**
 * All attempts use the token of one page. A failed attempt is a row. Rejects like `LiveChat.findChat`, with
 * `ChatAbsent`, and with `UpstreamError` "throttled" if a cooldown lasts longer than a minute.
 */
export async function probe(egress: Egress, videoId: string, signal: AbortSignal): Promise<ProbeRow[]> {
  const options = { lane: "probe", maxCooldownMs: MAX_COOLDOWN_MS, signal } as const;
  const standing = await egress.liveChat.findChat(videoId, options);
  if (standing.is !== "there") throw new ChatAbsent(standing);
  const { start } = standing;
  const rows: ProbeRow[] = [];
  for (const pair of ALL_PAIRS) {
    const retryAfterMs = egress.gate.cooldownLeftMs();
    if (retryAfterMs > MAX_COOLDOWN_MS) {
      throw new UpstreamError("throttled", "YouTube throttles this server for longer than a probe waits", {
        retryAfterMs,
      });
    }
    const outcome = await outcomeOf(egress.liveChat.poll({ ...start, pair }, options));
    rows.push({ label: pair.client, endpoint: pair.endpoint, ...outcome });
  }
  return rows;
}

async function outcomeOf(
  attempt: ReturnType<LiveChat["poll"]>,
): Promise<Omit<ProbeRow, keyof Pair | "label">> {
  try {
    const answer = await attempt;
    if (answer.kind === "batch") return { ok: true, actions: answer.actionCount, error: null };
    return { ok: false, actions: 0, error: "an answer without chat" };
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    return { ok: false, actions: 0, error: error.message };
  }
}
