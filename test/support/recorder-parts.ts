/** The recorder of a service in a test, and the recording of one video in a virtual relay. */
import assert from "node:assert/strict";
import type { Scenario } from "../../simulator/scenario.ts";
import type { Config } from "../../src/cli/config.ts";
import type { RecorderParts, RecordingRun } from "../../src/rooms/recordings/recording-run.ts";
import { type ListedRecording, Recordings } from "../../src/rooms/recordings/recordings.ts";
import { VirtualRelay, type VirtualRelayOptions } from "../harness/virtual-relay.ts";
import { VIDEO } from "./virtual-room.ts";

type ServiceParts = Omit<RecorderParts, "settings"> & { config: Config };

/** What the recorder of a service is made of. */
export function recorderOf(parts: ServiceParts): RecorderParts {
  const { rooms, channels, config, recorded, store, egresses, clock, telemetry } = parts;
  const { rooms: settings } = config;
  return { rooms, channels, recorded, store, egresses, clock, telemetry, settings };
}

/** A run of a recording that ends with the signal, and reports to nobody. */
export const runUntil = (signal: AbortSignal): RecordingRun => ({
  signal,
  deleted: new AbortController().signal,
  report: () => {},
});

/** A relay that records a video, whose chat is as the scenario says. */
export function recorded(scenario: Partial<Scenario> = {}, options: VirtualRelayOptions = {}) {
  const relay = new VirtualRelay({ hasDisk: true, ...options });
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5000, ...scenario });
  const start = () => {
    const recordings = new Recordings([VIDEO], recorderOf(relay), new AbortController().signal);
    recordings.start({ isListRun: false });
    return recordings;
  };
  let recordings = start();
  return {
    relay,
    chat,
    upstream: relay.upstream,
    now: async () => {
      const [listed]: ListedRecording[] = await relay.when(recordings.list());
      const { state, videoId, error } = listed ?? assert.fail();
      return { state, videoId, error };
    },
    restart: async () => {
      await relay.restart(1000);
      recordings = start();
    },
    stored: async () => (await relay.stored(VIDEO)).map(({ id }) => id),
    said: () => chat.ledger.map(({ id }) => id),
  };
}
