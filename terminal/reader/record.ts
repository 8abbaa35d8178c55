/** `record`: lists, adds and deletes the recordings of a service. */

import { ChatError } from "../../client/index.ts";
import { cleanText, jsonLine } from "../../src/base/sanitised-text.ts";
import { suggest } from "../../src/base/suggest.ts";
import { EXIT } from "../../src/cli/exit-codes.ts";
import { type Input, UsageError } from "../../src/cli/flags.ts";
import { Output } from "../../src/cli/output.ts";
import { plural } from "../../src/cli/plural.ts";
import type { ProcessIo } from "../../src/cli/process-io.ts";
import { tableOf } from "../../src/cli/text-table.ts";
import type { ListedRecording } from "../../src/rooms/recordings/recordings.ts";
import { ask } from "./ask.ts";
import type { RECORD_FLAGS } from "./reader-flags.ts";
import type { Access } from "./sent-token.ts";
import { CommandError, reasonOf, runSession, type Session } from "./session.ts";

interface Answer {
  recordings: ListedRecording[];
}

const METHODS: Readonly<Record<string, string>> = { add: "PUT", remove: "DELETE" };

const COLUMNS = {
  name: ({ name }: ListedRecording) => name,
  state: ({ state }: ListedRecording) => state,
  video: ({ videoId = "-" }: ListedRecording) => videoId,
  since: ({ since }: ListedRecording) => since.slice(0, 16).replace("T", " "),
  fixed: ({ fixed }: ListedRecording) => (fixed ? "yes" : "no"),
  error: ({ error = "-" }: ListedRecording) => error,
};

/** After how many days the service deletes messages; 0 if it does not, or does not say so to this caller. */
async function retentionDays(access: Access, signal: AbortSignal): Promise<number> {
  const rooms = ask<{ retentionDays: number; rooms: unknown[] }>(access, "/v1/rooms", { signal }, "rooms");
  return await rooms.then(
    (answer) => answer.retentionDays,
    (error) => {
      if (error instanceof ChatError) return 0;
      throw error;
    },
  );
}

/** Resolves to the exit code. Rejects with `UsageError` or `CommandError`. */
export async function record(
  { values, arguments: [action = "", name] }: Input<typeof RECORD_FLAGS>,
  io: ProcessIo,
): Promise<number> {
  const { RELAY_ADMIN_TOKEN: adminToken, json } = values;
  const actions = ["list", ...Object.keys(METHODS)];
  if (!actions.includes(action))
    throw new UsageError(`<action>: must be one of ${actions.join(", ")}${suggest(action, actions)}`);
  if ((action === "list") !== (name === undefined))
    throw new UsageError(action === "list" ? "list takes no name" : `${action} needs a video or a channel`);
  if (adminToken === undefined && values.RELAY_TOKEN === undefined && values["token-file"] === undefined)
    throw new UsageError(
      "RELAY_ADMIN_TOKEN (--admin-token) is missing: start the service with a secret in this variable, and set the same one here; or set RELAY_TOKEN to a token with the right `record`",
    );
  const work = async ({ server, token, stopped, notice }: Session): Promise<number> => {
    const access = { server, token: adminToken ?? token };
    if (name !== undefined) {
      const path = `/v1/recordings/${encodeURIComponent(name)}`;
      await ask(access, path, { method: METHODS[action] ?? "", signal: stopped });
      notice(action === "add" ? `${name} is recorded` : `${name} is no longer recorded`);
      const days = action === "add" ? await retentionDays(access, stopped) : 0;
      if (days > 0)
        notice(
          `messages are deleted after ${plural(days, "day")}: to keep them, start the service with RELAY_RETENTION_DAYS=0, or export the chat and import it into another store`,
        );
      return 0;
    }
    const output = new Output(io.stdout);
    const signal = AbortSignal.any([stopped, output.failed]);
    const answer = await ask<Answer>(access, "/v1/recordings", { signal }, "recordings");
    await output.add(json ? jsonLine(answer) : tableOf(COLUMNS, answer.recordings), stopped);
    await output.finish(stopped);
    return 0;
  };
  return runSession(values, io, (session) =>
    work(session).catch((error) => {
      const isAdmins =
        error instanceof ChatError && error.code === "UNAUTHORIZED" && adminToken !== undefined;
      if (!isAdmins) throw error;
      const reason = cleanText(reasonOf(error));
      throw new CommandError(
        EXIT.failed,
        `${reason} (here: the token is RELAY_ADMIN_TOKEN or --admin-token)`,
      );
    }),
  );
}
