/** `probe`: shows which upstream clients work for a video now, as a table or as the service's answer. */
import { type ProbeRow, probe } from "../../client/index.ts";
import { jsonLine } from "../../src/base/sanitised-text.ts";
import { EXIT } from "../../src/cli/exit-codes.ts";
import type { Input } from "../../src/cli/flags.ts";
import { Output } from "../../src/cli/output.ts";
import type { ProcessIo } from "../../src/cli/process-io.ts";
import { tableOf } from "../../src/cli/text-table.ts";
import { showProgress } from "./progress.ts";
import type { ANSWER_FLAGS } from "./reader-flags.ts";
import { runSession } from "./session.ts";

/** Resolves to the exit code: 1 if no client works. Rejects with `CommandError`. */
export function probeVideo(
  { values, arguments: [videoId = ""] }: Input<typeof ANSWER_FLAGS>,
  io: ProcessIo,
): Promise<number> {
  const { json } = values;
  return runSession(values, io, async ({ server, token, stopped, notice }) => {
    const output = new Output(io.stdout);
    const signal = AbortSignal.any([stopped, output.failed]);
    const startedAt = performance.now();
    const seconds = () => Math.round((performance.now() - startedAt) / 1000);
    const hideProgress = showProgress(io, () => `24 attempts, one after another: ${seconds()} s so far`);
    const answer = await probe(server, { videoId, token, signal }).finally(hideProgress);
    await output.add(json ? jsonLine(answer) : tableOf(COLUMNS, answer.rows), stopped);
    await output.finish(stopped);
    const working = answer.rows.filter(({ ok }) => ok).length;
    notice(`${working} of ${answer.rows.length} attempts worked`);
    return working > 0 ? 0 : EXIT.failed;
  });
}

const COLUMNS = {
  client: ({ label }: ProbeRow) => label,
  endpoint: ({ endpoint }: ProbeRow) => endpoint,
  ok: ({ ok }: ProbeRow) => (ok ? "yes" : "no"),
  actions: ({ actions }: ProbeRow) => `${actions}`,
  error: ({ error }: ProbeRow) => error ?? "",
};
