/** `demo`: the relay and a simulated upstream in one process, in memory, without internet. */
import { systemClock } from "../clock.ts";
import { type Simulator, startSimulator } from "../simulator/index.ts";
import { createLog } from "../telemetry/log.ts";
import { Telemetry } from "../telemetry/telemetry.ts";
import { type Config, ConfigError, readSettings, toConfig } from "./config.ts";
import { stopOnSignal } from "./serve.ts";
import { startService } from "./service.ts";

const VIDEO_ID = "demo-stream";
const MESSAGES_BEFORE = 60;
/** How long the simulated upstream keeps what was said. */
const HOLDS_MS = 60_000;
const MAX_RATE = 1000;

export async function demo(args: readonly string[]): Promise<void> {
  const { texts, extras } = readSettings(args, process.env, ["recording", "rate"]);
  const config = toConfig({ ...texts, RELAY_STORE: "memory:" });
  const perSecond = rateFrom(extras.rate ?? "5");
  const upstream = await startSimulator();
  try {
    if (extras.recording === undefined) speak(upstream, perSecond);
    else await playRecording(upstream, extras.recording);
    await serveDemo({ ...config, upstream: upstream.urls }, upstream);
  } catch (error) {
    await upstream.close();
    throw error;
  }
}

function speak(upstream: Simulator, perSecond: number): void {
  const chat = upstream.chat(VIDEO_ID, { tokens: "reusable", forget: true, holdsMs: HOLDS_MS });
  chat.say(MESSAGES_BEFORE);
  chat.speak(perSecond);
}

async function playRecording(upstream: Simulator, path: string): Promise<void> {
  try {
    await upstream.play(VIDEO_ID, path);
  } catch (error) {
    throw new ConfigError(
      `--recording: ${error instanceof Error ? error.message : error}; name a recorded answer, page or .live_chat.json (.json, .jsonl, .html), or a folder of such files`,
    );
  }
}

async function serveDemo(config: Config, upstream: Simulator): Promise<void> {
  const telemetry = new Telemetry(createLog(config.logLevel));
  const service = await startService(config, systemClock, telemetry);
  const stop = async () => {
    await service.stop();
    await upstream.close();
  };
  stopOnSignal({ ...service, stop }, telemetry);

  const stream = `${service.url}/v1/stream?videoId=${VIDEO_ID}`;
  process.stdout.write(`
The relay runs against a simulated upstream, and keeps everything in memory.

  Stream   ${stream}
  Watch    curl -N '${stream}'
  Resume   curl -N -H 'Last-Event-ID: <the last id you saw>' '${stream}'
  Stop     Ctrl-C

`);
}

function rateFrom(text: string): number {
  const rate = Number(text);
  if (text.trim() === "" || !(rate > 0 && rate <= MAX_RATE)) {
    throw new ConfigError(
      `--rate: must be messages a second, above 0 and up to ${MAX_RATE}, not "${text.slice(0, 100)}"`,
    );
  }
  return rate;
}
