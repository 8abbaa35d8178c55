/** `demo`: the relay and a simulated upstream in one process, in memory, without internet. */
import { systemClock } from "../clock.ts";
import { startSimulator } from "../simulator/index.ts";
import { createLog } from "../telemetry/log.ts";
import { Telemetry } from "../telemetry/telemetry.ts";
import { ConfigError, readSettings, toConfig } from "./config.ts";
import { stopOnSignal } from "./serve.ts";
import { startService } from "./service.ts";

const VIDEO_ID = "demo-stream";
const MESSAGES_BEFORE = 60;

export async function demo(args: readonly string[]): Promise<void> {
  const { texts, extras } = readSettings(args, process.env, ["recording", "rate"]);
  const config = toConfig({ ...texts, RELAY_STORE: "memory:" });
  const perSecond = rateFrom(extras.rate ?? "5");
  const upstream = await startSimulator();
  if (extras.recording === undefined) {
    const chat = upstream.chat(VIDEO_ID, { tokens: "reusable", forget: true, holdsMs: 60_000 });
    chat.say(MESSAGES_BEFORE);
    chat.speak(perSecond);
  } else {
    await upstream.play(VIDEO_ID, extras.recording);
  }
  config.upstream = upstream.urls;
  const telemetry = new Telemetry(createLog(config.logLevel));
  const service = await startService(config, systemClock, telemetry);
  const stop = async () => {
    await service.stop();
    await upstream.close();
  };
  stopOnSignal({ ...service, stop }, telemetry);

  const stream = `${service.url}/v1/stream?videoId=${VIDEO_ID}`;
  process.stdout.write(`
The relay runs against a simulated upstream.

  Stream   ${stream}
  Watch    curl -N '${stream}'
  Resume   curl -N -H 'Last-Event-ID: <the last id you saw>' '${stream}'
  Stop     Ctrl-C

`);
}

function rateFrom(text: string): number {
  const rate = Number(text);
  if (text.trim() === "" || !(rate > 0 && rate <= 10_000)) {
    throw new ConfigError(`--rate: must be a number of messages a second, up to 10000, not "${text}"`);
  }
  return rate;
}
