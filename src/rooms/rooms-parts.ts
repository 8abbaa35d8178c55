/** What all rooms of an instance use, and their settings, for an instance with a store and for an edge. */
import type { Clock } from "../base/clock.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { RoomSources } from "./sources.ts";

export interface RoomsParts {
  sources: RoomSources;
  clock: Clock;
  telemetry: Telemetry;
  settings: RoomsSettings;
}

interface RoomsSettings {
  /**
   * How long a room without viewers lingers, and how long an ended one is still served, in milliseconds.
   */
  graceMs: number;
  /** How long the service remembers that a video has no chat, in milliseconds. */
  noChatMs: number;
  keepaliveMs: number;
  maxRooms: number;
  maxViewers: number;
}
