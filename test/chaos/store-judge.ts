/**
 * Judges the remaining file with nothing but SQLite: it is sound, and each room holds exactly its viewers'
 * messages, to the end, under consecutive cursors. If old messages are deleted, those are the oldest.
 */
import { DatabaseSync } from "node:sqlite";
import { withoutHash } from "./expected-messages.ts";
import type { GapJudge } from "./gap-judge.ts";
import type { Gap, RoomTruth } from "./room-truth.ts";
import type { Verdict } from "./verdict.ts";

export function judgeStore(
  path: string,
  rooms: readonly RoomTruth[],
  gapJudge: GapJudge,
  verdict: Verdict,
  { isPruned = false } = {},
): void {
  using database = new DatabaseSync(path, { readOnly: true });
  const sound = database.prepare("pragma integrity_check").get()?.integrity_check;
  if (sound !== "ok") verdict.violate("log", `the store's file is damaged: ${sound}`);
  const rows = database.prepare(
    "select cursor, body from message join room on room.key = message.room where video_id = ? order by cursor",
  );
  for (const room of rooms) {
    const { videoId, chat, messages, base = Number.NaN } = room;
    const kept = rows.all(room.key);
    const pruned = isPruned ? messages.length - kept.length : 0;
    verdict.count("messages in the store", kept.length);
    if (pruned + kept.length !== messages.length || room.cursorOf(chat.ledger.length) === undefined) {
      verdict.violate(
        "log",
        `the store holds ${kept.length} messages of ${videoId}; ${messages.length} were sent, ${chat.ledger.length} actions were said`,
      );
    }
    const wrong = kept.findIndex(({ cursor, body }, i) => {
      const message = withoutHash(JSON.parse(String(body)));
      const sent = messages[pruned + i];
      return cursor !== base + 1 + pruned + i || message.id !== sent?.id || message.type !== sent?.type;
    });
    if (wrong !== -1) {
      verdict.violate("log", `the store's message number ${wrong} of ${videoId} is not what was sent`);
    }
  }
  judgeGaps(path, rooms, gapJudge, verdict);
}

/**
 * Judges the gaps. During traffic it judges only gaps that another message follows and that are not in
 * `judged`, and adds them to `judged`.
 */
export function judgeGaps(
  path: string,
  rooms: readonly RoomTruth[],
  gapJudge: GapJudge,
  verdict: Verdict,
  judged?: Set<Gap>,
): void {
  using database = new DatabaseSync(path, { readOnly: true });
  const rows = database.prepare(
    "select at, details from message join room on room.key = message.room where video_id = ? and cursor = ?",
  );
  for (const room of rooms) {
    const { videoId, messages, base = Number.NaN } = room;
    for (const gap of room.gaps) {
      if (judged?.has(gap) || (judged && gap.cursor === base + messages.length)) continue;
      const row = rows.get(room.key, gap.cursor);
      if (!row) continue; // deleted, or missing: the store's judge reports it
      judged?.add(gap);
      const { since } = JSON.parse(String(row.details)).gap;
      const fault = gapJudge.fault(room, gap, { since: Date.parse(since), storedAt: Number(row.at) });
      if (fault) verdict.violate("log", `${videoId}, cursor ${gap.cursor}: ${fault}`);
      verdict.count(gap.missing > 0 ? "gaps, messages missing" : "gaps, nothing missing");
      verdict.count("messages missing behind gaps", gap.missing);
    }
  }
}
