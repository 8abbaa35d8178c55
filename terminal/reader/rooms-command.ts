/** `rooms`: shows the rooms that a service stores and reads, as a table or as the service's answer. */

import { cleanText, jsonLine } from "../../src/base/sanitised-text.ts";
import type { Input } from "../../src/cli/flags.ts";
import { Output } from "../../src/cli/output.ts";
import { plural } from "../../src/cli/plural.ts";
import type { ProcessIo } from "../../src/cli/process-io.ts";
import { tableOf } from "../../src/cli/text-table.ts";
import { isReplayChat } from "../../src/protocol/chat.ts";
import { type ListedRoom, MAX_LISTED } from "../../src/rooms/listing.ts";
import { ask } from "./ask.ts";
import type { ANSWER_FLAGS } from "./reader-flags.ts";
import type { Access } from "./sent-token.ts";
import { type Notice, runSession } from "./session.ts";

interface Answer {
  retentionDays: number;
  rooms: ListedRoom[];
}

const COLUMNS = {
  video: ({ videoId, chatType }: ListedRoom) => (isReplayChat(chatType) ? `${videoId} replay` : videoId),
  state: ({ state }: ListedRoom) => state,
  messages: ({ messages }: ListedRoom) => `${messages}`,
  first: ({ firstAt }: ListedRoom) => shortTime(firstAt),
  last: ({ lastAt }: ListedRoom) => shortTime(lastAt),
  viewers: ({ viewers }: ListedRoom) => `${viewers}`,
  late: ({ lateMs }: ListedRoom) => (lateMs === null ? "-" : `${(lateMs / 1000).toFixed(1)} s`),
  gaps: ({ gaps }: ListedRoom) => `${gaps}`,
  full: ({ fullAnswers }: ListedRoom) => `${fullAnswers ?? "-"}`,
  egress: ({ egress }: ListedRoom) => egress ?? "-",
  channel: ({ channel }: ListedRoom) => begin(channel?.name ?? channel?.handle ?? "-", 24),
  title: ({ title = "-" }: ListedRoom) => begin(title, 60),
};

/** Resolves to the exit code. Rejects with `CommandError`. */
export function listRooms({ values }: Input<typeof ANSWER_FLAGS>, io: ProcessIo): Promise<number> {
  const { json } = values;
  return runSession(values, io, async ({ stopped, notice, ...access }) => {
    const output = new Output(io.stdout);
    const answer = await roomsOf(access, AbortSignal.any([stopped, output.failed]), notice);
    await output.add(json ? jsonLine(answer) : tableOf(COLUMNS, answer.rooms), stopped);
    await output.finish(stopped);
    const { retentionDays: days, rooms } = answer;
    const but = rooms.some(({ kept }) => kept) ? "; those of imported chats are kept" : "";
    if (days > 0) notice(`messages are deleted after ${plural(days, "day")} (RELAY_RETENTION_DAYS)${but}`);
    return 0;
  });
}

/** The rooms that the service lists. If there may be more, a notice says so. Rejects as `ask` does. */
export async function roomsOf(access: Access, signal: AbortSignal, notice: Notice): Promise<Answer> {
  const answer = await ask<Answer>(access, "/v1/rooms", { signal }, "rooms");
  if (answer.rooms.length >= MAX_LISTED)
    notice(`the service lists only the ${MAX_LISTED} rooms that were read last; there may be more`);
  return answer;
}

/** At most `most` characters; the last of a longer text is `…`. */
function begin(text: string, most: number): string {
  const characters = [...cleanText(text)];
  return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : characters.join("");
}

/** To the minute, in UTC. */
function shortTime(iso: string | null): string {
  return iso === null ? "-" : `${iso.slice(0, 10)} ${iso.slice(11, 16)}`;
}
