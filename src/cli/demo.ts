/** `demo`: the relay and a simulated upstream in one process, in memory, without internet access. */
import { type Simulator, SPECIES, startSimulator } from "../simulator/index.ts";
import { type SettingName, toConfig } from "./config.ts";
import { UsageError } from "./flags.ts";
import { type ServeInput, startConfigured } from "./serve.ts";
import type { Service } from "./service.ts";
import type { Surroundings } from "./surroundings.ts";

const VIDEO_ID = "demo-stream";
const MESSAGES_BEFORE = 60;
/** How long the simulated upstream keeps its messages. */
const HOLDS_MS = 60_000;

/** The settings for which the demo has its own values. */
const UNUSED: readonly SettingName[] = [
  "RELAY_STORE",
  "RELAY_UPSTREAM_URL",
  "RELAY_UPSTREAM_MUSIC_URL",
  "RELAY_UPSTREAM_MOBILE_URL",
];

type DemoInput = ServeInput & { values: { recording: string; rate: number } };

/** Rejects like `startService`, and with `UsageError` if the recording cannot be played. */
export async function demo(
  input: DemoInput,
  surroundings: Surroundings,
  stopped: AbortSignal,
): Promise<Pick<Service, "stop" | "lost">> {
  const upstream = await startSimulator();
  try {
    if (input.given.has("recording")) await playRecording(upstream, input.values.recording);
    else speak(upstream, input.values.rate);
    const own = toConfig(input.values);
    const http = { ...own.http, demoVideo: VIDEO_ID };
    const hosts = { ...own.upstream, hosts: upstream.urls };
    const config = { ...own, http, storeUrl: "memory:", upstream: hosts };
    const service = await startConfigured(config, input, surroundings, stopped);
    surroundings.stdout.write(welcome(service.url));
    for (const name of UNUSED.filter((name) => input.given.has(name)))
      surroundings.stderr.write(
        `livechat-relay: ${name} is ignored: the demo has its own store and upstream\n`,
      );
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

function speak(upstream: Simulator, perSecond: number): void {
  const chat = upstream.chat(VIDEO_ID, {
    tokens: "reusable",
    forget: true,
    holdsMs: HOLDS_MS,
    kinds: SPECIES.filter((kind) => kind !== "unknown"), // their warnings would look like a defect
  });
  chat.say(MESSAGES_BEFORE);
  chat.speak(perSecond);
}

async function playRecording(upstream: Simulator, path: string): Promise<void> {
  try {
    await upstream.play(VIDEO_ID, path);
  } catch (error) {
    throw new UsageError(
      `--recording: ${whyOf(error, path)}; name a recorded answer, page or .live_chat.json (.json, .jsonl, .html), or a folder of such files`,
    );
  }
}

function whyOf(error: unknown, path: string): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error ? `${path} cannot be read (${error.code})` : error.message;
}

function welcome(url: string): string {
  const stream = `${url}/v1/stream?videoId=${VIDEO_ID}`;
  return `
The relay runs against a simulated upstream, and keeps everything in memory.

  Page     ${url}/?videoId=${VIDEO_ID}
  Overlay  ${url}/overlay?videoId=${VIDEO_ID}
  Stream   curl -N '${stream}'
  Resume   curl -N -H 'Last-Event-ID: <the last id you saw>' '${stream}'
  Stop     Ctrl-C

`;
}
