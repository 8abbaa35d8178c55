/**
 * Judges what is left in the file, with nothing but SQLite: it is sound, and each room holds exactly what its viewers
 * were sent, to the end, under consecutive cursors.
 */
import { DatabaseSync } from "node:sqlite";
import { withoutHash } from "./expected-messages.ts";
import type { GapJudge } from "./gap-judge.ts";
import type { RoomTruth } from "./room-truth.ts";
import type { Verdict } from "./verdict.ts";

export function judgeStore(
  path: string,
  rooms: readonly RoomTruth[],
  gapJudge: GapJudge,
  verdict: Verdict,
): void {
  using database = new DatabaseSync(path, { readOnly: true });
  const sound = database.prepare("pragma integrity_check").get()?.integrity_check;
  if (sound !== "ok") verdict.violate(`the store's file is damaged: ${sound}`);
  const rows = database.prepare(
    "select cursor, at, body, details from message join room on room.key = message.room where video_id = ? order by cursor",
  );
  for (const room of rooms) {
    const { videoId, chat, messages, base = Number.NaN } = room;
    const kept = rows.all(videoId);
    verdict.count("messages in the store", kept.length);
    if (kept.length !== messages.length || room.cursorOf(chat.ledger.length) !== base + messages.length) {
      verdict.violate(
        `the store holds ${kept.length} messages of ${videoId}; ${messages.length} were sent, ${chat.ledger.length} actions were said`,
      );
    }
    const wrong = kept.findIndex(({ cursor, body }, i) => {
      const message = withoutHash(JSON.parse(String(body)));
      return cursor !== base + 1 + i || message.id !== messages[i]?.id || message.type !== messages[i]?.type;
    });
    if (wrong !== -1) {
      verdict.violate(`the store's message number ${wrong} of ${videoId} is not what was sent`);
    }
    for (const gap of room.gaps) {
      const row = kept[gap.cursor - base - 1];
      const { since } = JSON.parse(String(row?.details)).gap;
      const fault = gapJudge.fault(room, gap, { since: Date.parse(since), storedAt: Number(row?.at) });
      if (fault) verdict.violate(`${videoId}, cursor ${gap.cursor}: ${fault}`);
      verdict.count(gap.missing > 0 ? "gaps, messages missing" : "gaps, nothing missing");
      verdict.count("messages missing behind gaps", gap.missing);
    }
  }
}
