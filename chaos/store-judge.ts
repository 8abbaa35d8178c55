/**
 * Judges what is left in the file, with nothing but SQLite: it is sound, and each room holds exactly what was said,
 * under consecutive cursors.
 */
import { DatabaseSync } from "node:sqlite";
import { withoutHash } from "./expected-messages.ts";
import type { RoomTruth } from "./room-truth.ts";
import type { Verdict } from "./verdict.ts";

export function judgeStore(path: string, rooms: readonly RoomTruth[], verdict: Verdict): void {
  using database = new DatabaseSync(path, { readOnly: true });
  const sound = database.prepare("pragma integrity_check").get()?.integrity_check;
  if (sound !== "ok") verdict.violate(`the store's file is damaged: ${sound}`);
  const rows = database.prepare(
    "select cursor, body from message join room on room.key = message.room where video_id = ? order by cursor",
  );
  for (const { videoId, base = Number.NaN, messages } of rooms) {
    const kept = rows.all(videoId);
    if (kept.length !== messages.length) {
      verdict.violate(`the store holds ${kept.length} messages of ${videoId}, ${messages.length} were said`);
    }
    const wrong = kept.findIndex(({ cursor, body }, i) => {
      const message = withoutHash(JSON.parse(String(body)));
      return cursor !== base + 1 + i || message.id !== messages[i]?.id || message.type !== messages[i]?.type;
    });
    if (wrong !== -1)
      verdict.violate(`the store's message number ${wrong} of ${videoId} is not what was said`);
    verdict.count("messages in the store", kept.length);
  }
}
