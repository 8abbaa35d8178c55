/** `demo`: the relay and a simulated upstream in one process, without internet access. */
import { existsSync } from "node:fs";
import {
  type Broadcast,
  type Channel,
  type Simulator,
  SPECIES,
  startSimulator,
} from "../../simulator/index.ts";
import { systemClock } from "../base/clock.ts";
import { COMMAND_NAME } from "../base/own-files.ts";
import { openNamedStore } from "../store/open.ts";
import { storeKind } from "../store/port.ts";
import { silentLog } from "../telemetry/logger.ts";
import { Telemetry } from "../telemetry/telemetry.ts";
import { toConfig } from "./config.ts";
import { type DEMO_FLAGS, REPLACED, type Step } from "./demo-flags.ts";
import { playScript } from "./demo-script.ts";
import { type Input, UsageError, variablesIn } from "./flags.ts";
import { print } from "./output.ts";
import type { ProcessIo } from "./process-io.ts";
import { startConfigured } from "./serve.ts";
import type { Service } from "./service.ts";

const VIDEO_ID = "demo-stream";
/** The channel whose live stream it is. */
const CHANNEL = "@demo";
/** The stream of another channel, with fewer messages. */
const SECOND_VIDEO_ID = "demo-second";
/** How the ids of the channel's next streams begin; the number of the stream follows. */
const NEXT = "demo-next-";
/** How long the simulated upstream keeps its messages. */
const HOLDS_MS = 60_000;
/** The page of the chat shows the messages of that time, in these bounds. */
const [MIN_SHOWN, MAX_SHOWN] = [60, 1000];
/** More than a service reads at once. */
const MAX_ROOMS = 10_000;

/**
 * Rejects like `startService`, and with `UsageError` if the capture cannot be played or the store belongs
 * to the real service.
 */
export async function demo(
  input: Input<typeof DEMO_FLAGS>,
  io: ProcessIo,
  stopped: AbortSignal,
): Promise<Pick<Service, "stop" | "lost">> {
  const { values, given } = input;
  await assertOwnStore(values.store);
  const upstream = await startSimulator();
  try {
    if (given.has("capture")) {
      if (existsSync(values.capture)) io.stderr.write(`${COMMAND_NAME}: reading ${values.capture}\n`);
      await playCapture(upstream, values.capture);
      if (values.script.length + values.endsAfter.length > 0)
        throw new UsageError("--script and --ends-after are of the generated chat, not of --capture");
    } else
      speak(upstream, values.rate, [...values.script, ...values.endsAfter], (act) =>
        io.stderr.write(`${COMMAND_NAME}: ${VIDEO_ID}: ${act}\n`),
      );
    const simulated = {
      RELAY_UPSTREAM_URL: upstream.urls.main,
      RELAY_UPSTREAM_MUSIC_URL: upstream.urls.music,
      RELAY_UPSTREAM_MOBILE_URL: upstream.urls.mobile,
    };
    const own = toConfig({ ...values, RELAY_STORE: values.store, ...simulated });
    const config = { ...own, http: { ...own.http, demoVideo: VIDEO_ID } };
    const service = await startConfigured(config, input, io, stopped);
    const greeting = welcome(service.url, values.store, simulated, !given.has("capture"));
    await print(greeting, io.stdout).catch(() => {}); // a broken output does not stop the demo
    for (const name of variablesIn(REPLACED, io.env))
      io.stderr.write(`${COMMAND_NAME}: the demo ignores ${name}: ${OWN}\n`);
    const stop = async () => {
      await service.stop();
      await upstream.close();
    };
    return { ...service, stop };
  } catch (error) {
    await upstream.close();
    throw error;
  }
}

const OWN = "it has a simulated upstream, and its own store (--store)";

/** The simulated upstream would end the rooms that a real service has open. */
async function assertOwnStore(url: string): Promise<void> {
  if (storeKind(url) === "memory") return;
  const telemetry = new Telemetry(silentLog);
  await using opened = new AsyncDisposableStack();
  const store = opened.adopt(await openNamedStore("--store", url, systemClock, telemetry), (store) =>
    store.close(),
  );
  const rooms = await store.listRooms(MAX_ROOMS);
  const foreign = rooms.find(
    ({ key, end }) => end === null && ![VIDEO_ID, SECOND_VIDEO_ID].includes(key) && !key.startsWith(NEXT),
  );
  if (foreign)
    throw new UsageError(
      `--store: ${url} belongs to a real service (room ${foreign.key} is open): choose another file`,
    );
}

/** The live streams of the demo, and what happens to the first. */
function speak(
  upstream: Simulator,
  perSecond: number,
  steps: readonly Step[],
  told: (act: string) => void,
): void {
  const channel = upstream.channel(CHANNEL, { title: "Demo" });
  const start = steps.find(({ act }) => act === "start");
  const startsAt = start && systemClock.now() + start.afterMs;
  const broadcast = speakOn(channel, VIDEO_ID, perSecond, startsAt);
  speakOn(upstream.channel("@demo-second", { title: "Second demo" }), SECOND_VIDEO_ID, perSecond / 5);
  let streams = 1;
  const next = () => void speakOn(channel, `${NEXT}${++streams}`, perSecond);
  const later = (ms: number, act: () => void) => void setTimeout(act, ms).unref();
  playScript(steps, { upstream, broadcast, next, later }, told);
}

/** A chat that continues while the demo does not run, as a real one does. */
function speakOn(channel: Channel, videoId: string, perSecond: number, startsAt?: number): Broadcast {
  const held = Math.round((perSecond * HOLDS_MS) / 1000);
  const shown = Math.min(Math.max(held, MIN_SHOWN), MAX_SHOWN);
  const scenario = {
    tokens: "reusable",
    forget: true,
    holdsMs: HOLDS_MS,
    page: shown,
    kinds: SPECIES.filter((kind) => kind !== "unknown"), // their warnings would look like a defect
  } as const;
  const broadcast = channel.broadcast(videoId, { chat: scenario, ...(startsAt && { startsAt }) });
  broadcast.chat.speakEndlessly(perSecond, shown);
  return broadcast;
}

async function playCapture(upstream: Simulator, path: string): Promise<void> {
  try {
    await upstream.play(VIDEO_ID, path);
  } catch (error) {
    throw new UsageError(
      `--capture: ${whyOf(error, path)}; name a captured answer, page or .live_chat.json (.json, .jsonl, .html), or a folder of such files (an export can be read by "livechat-relay import")`,
    );
  }
}

function whyOf(error: unknown, path: string): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error ? `${path} cannot be read (${error.code})` : error.message;
}

/**
 * `simulated`: the settings with which another service reads the demo's upstream. `speaks`: whether its chats
 * are the generated ones; a capture is a single chat, without a channel.
 */
function welcome(
  url: string,
  store: string,
  simulated: Readonly<Record<string, string>>,
  speaks: boolean,
): string {
  const stream = `${url}/v1/stream?videoId=${VIDEO_ID}`;
  const settings = Object.entries(simulated).map(([name, value]) => `${name}=${value}`);
  const isDurable = storeKind(store) !== "memory";
  const channel = `
  Channel  curl -N '${url}/v1/stream?channel=${CHANNEL}'
  Merged   curl -N '${url}/v1/merged?videoIds=${VIDEO_ID},${SECOND_VIDEO_ID}'`;
  return `
The relay runs against a simulated upstream, and keeps everything in ${isDurable ? store : "memory"}.

  Videos   ${VIDEO_ID}${speaks ? ` and ${SECOND_VIDEO_ID}` : ""}; no other one has a chat here
  Page     ${url}/?videoId=${VIDEO_ID}
  Overlay  ${url}/overlay?videoId=${VIDEO_ID}
  Set-up   ${url}/overlay/setup
  Stream   curl -N '${stream}'${speaks ? channel : ""}
  Resume   curl -N -H 'Last-Event-ID: <the last id you saw>' '${stream}'
  Upstream ${settings.join(" ")}
  Stop     Ctrl-C
${isDurable ? `  Kill     kill -9 ${process.pid}; start it again within a minute, and no message is missing\n` : ""}
`;
}
