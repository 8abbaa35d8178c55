/**
 * `check`: says line by line whether the service can run here, and with a video, whether it reads today.
 * `serve --check` does it without calls to the upstream. Nothing is changed, and a running service is left
 * alone.
 */
import { closeSync, openSync, unlinkSync, writeFileSync } from "node:fs";
import { WATCH_FLAGS } from "../../../terminal/reader/reader-flags.ts";
import { systemClock } from "../../base/clock.ts";
import { fileTrouble } from "../../base/file-trouble.ts";
import { RelayError } from "../../protocol/errors.ts";
import { parseListedVideoId } from "../../protocol/video-id.ts";
import { silentLog } from "../../telemetry/logger.ts";
import { Telemetry } from "../../telemetry/telemetry.ts";
import { HttpConnections } from "../../upstream/egress/connections.ts";
import { EgressPool } from "../../upstream/egress/pool.ts";
import { foreignAddress } from "../../upstream/egress/spec.ts";
import { type Config, toConfig } from "../config.ts";
import { EXIT, exitCodeOf } from "../exit-codes.ts";
import { type Input, UsageError, unknownVariables, variablesIn } from "../flags.ts";
import { Output, ReaderLeft } from "../output.ts";
import type { ProcessIo } from "../process-io.ts";
import { ALL_SETTINGS, type CHECK_FLAGS, OF_EDGE, type SETTINGS } from "../setting-table.ts";
import { stopSignals } from "../signals.ts";
import { checkEgresses } from "./egress-check.ts";
import { exchangeFinding } from "./exchange-finding.ts";
import { ExchangeLog } from "./exchange-log.ts";
import { type Finding, lineOf, type Tell } from "./finding.ts";
import { checkMachine } from "./machine-check.ts";
import { checkReading } from "./reads-check.ts";
import { reportOf } from "./report.ts";

/** Resolves to the exit code: 1 if a line says `fail`. Rejects with `UsageError`. */
export async function check(input: Input<typeof CHECK_FLAGS>, io: ProcessIo): Promise<number> {
  const {
    values,
    arguments: [name],
  } = input;
  const videoId = name === undefined ? undefined : videoIn(name);
  const path = values.report;
  if (path !== "" && videoId === undefined)
    throw new UsageError("--report needs a video: livechat-relay check <video> --report FILE");
  using report = path === "" ? undefined : newFile(path);
  return await told(io, async (tell, findings, signal) => {
    const config = await checkStart(input, io, tell);
    if (findings.some(({ state, of }) => state === "fail" && of === "settings")) return;
    const log = new ExchangeLog(systemClock);
    await checkUpstream(config, videoId, log, tell, signal);
    if (!report || videoId === undefined) return;
    report.write(reportOf(videoId, findings, log.all, systemClock.now()));
    tell({
      state: "ok",
      of: "report",
      text: "without names, texts and tokens; read it before you send it",
      quoted: path,
    });
  });
}

/** As `check`, without calls. */
export function checkBeforeStart(input: Input<typeof SETTINGS>, io: ProcessIo): Promise<number> {
  return told(io, async (tell) => void (await checkStart(input, io, tell)));
}

async function checkStart(
  { values, settings }: Input<typeof SETTINGS>,
  { env }: ProcessIo,
  tell: Tell,
): Promise<Config> {
  const config = toConfig(values);
  const foreign = await foreignAddress(config.upstream.specs);
  if (foreign) throw new UsageError(`RELAY_EGRESS: ${foreign} is not an address of this machine`);
  const mistakes = [
    ...unknownVariables({ ...ALL_SETTINGS, ...WATCH_FLAGS }, env),
    ...variablesIn(OF_EDGE, env).map((name) => `serve does not use ${name}: it is for livechat-relay edge`),
  ];
  await checkMachine(config, settings, mistakes, tell);
  return config;
}

async function checkUpstream(
  config: Config,
  videoId: string | undefined,
  log: ExchangeLog,
  tell: Tell,
  signal: AbortSignal,
): Promise<void> {
  const clock = systemClock;
  const telemetry = new Telemetry(silentLog);
  const { specs } = config.upstream;
  await using closing = new AsyncDisposableStack();
  const pool = new EgressPool({
    ...config.upstream,
    clock,
    telemetry,
    connectionsOf: (spec) => log.around(new HttpConnections(spec)),
  });
  closing.defer(() => pool.close());
  const egresses = specs.map(({ key }) => pool.of(key)).filter((egress) => egress !== undefined);
  const [egress] = await checkEgresses(egresses, clock, tell, signal);
  if (videoId === undefined) return;
  if (!egress) return tell({ state: "fail", of: "reads", text: "no: no egress works: see the lines above" });
  log.onExchange = (exchange) => tell(exchangeFinding(exchange, videoId));
  await checkReading({ egress, videoId, clock, tell, signal });
}

/** Prints the findings of `work` as they come. Resolves to the exit code. */
async function told(
  io: ProcessIo,
  work: (tell: Tell, findings: readonly Finding[], signal: AbortSignal) => Promise<void>,
): Promise<number> {
  using signals = stopSignals(io, exitCodeOf);
  const output = new Output(io.stdout);
  const signal = AbortSignal.any([signals.stopped, output.failed]);
  const findings: Finding[] = [];
  const tell = (finding: Finding) => {
    findings.push(finding);
    output.add(lineOf(finding)).catch(() => {}); // `failed` reports it
  };
  try {
    await work(tell, findings, signal);
    await output.finish(signals.stopped);
  } catch (error) {
    if (signals.stopped.aborted) return exitCodeOf(signals.stopped.reason);
    if (error instanceof ReaderLeft) return 0;
    throw error;
  }
  return findings.some(({ state }) => state === "fail") ? EXIT.failed : 0;
}

function videoIn(name: string): string {
  try {
    return parseListedVideoId(name);
  } catch (error) {
    throw error instanceof RelayError ? new UsageError(`<video>: ${error.message}`) : error;
  }
}

/** A file that did not exist before. Disposing removes it if nothing was written. Throws `UsageError`. */
function newFile(path: string): Disposable & { write(text: string): void } {
  let isWritten = false;
  try {
    closeSync(openSync(path, "wx"));
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === "EEXIST";
    const why = isThere ? "exists already: name another file" : fileTrouble(path, "written", error);
    throw new UsageError(`--report: ${path} ${why}`);
  }
  return {
    write: (text) => {
      writeFileSync(path, text);
      isWritten = true;
    },
    [Symbol.dispose]: () => {
      if (!isWritten) unlinkSync(path);
    },
  };
}
