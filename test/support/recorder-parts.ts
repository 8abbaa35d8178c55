/** A recorder in a virtual relay. */

import type { RecorderParts, RecordingRun } from "../../src/rooms/recordings/recorder.ts";
import type { VirtualRelay } from "../harness/virtual-relay.ts";

/** What a recorder in a virtual relay is made of. */
export function recorderOf({
  rooms,
  channels,
  config,
  store,
  egresses,
  clock,
  telemetry,
}: VirtualRelay): RecorderParts {
  return {
    rooms,
    channels,
    recorded: config.rooms.recorded,
    store,
    egresses,
    clock,
    telemetry,
    settings: config.rooms,
  };
}

/** A run of a recording that ends with the signal, and reports to nobody. */
export const runUntil = (signal: AbortSignal): RecordingRun => ({
  signal,
  deleted: new AbortController().signal,
  report: () => {},
});
