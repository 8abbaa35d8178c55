/** `migrate-store`: copies one store into another while no service uses either. */
import { systemClock } from "../base/clock.ts";
import { COMMAND_NAME } from "../base/own-files.ts";
import { migrateStore } from "../store/open.ts";
import type { Input } from "./flags.ts";
import { plural } from "./plural.ts";
import type { ProcessIo } from "./process-io.ts";
import { refuseStoreName } from "./wrong-store.ts";

/** Resolves to the exit code. Rejects with an error whose message is one line. */
export async function migrate(
  { arguments: [from = "", to = ""] }: Input<Record<never, never>>,
  { stderr }: ProcessIo,
): Promise<number> {
  const say = (text: string) => stderr.write(`${COMMAND_NAME}: ${text}\n`);
  const { rooms, messages } = await migrateStore(from, to, systemClock, ({ messages, total }) =>
    say(`${messages} of ${total} messages`),
  ).catch(refuseStoreName);
  say(`${plural(rooms, "room")}, ${plural(messages, "message")}: done`);
  return 0;
}
