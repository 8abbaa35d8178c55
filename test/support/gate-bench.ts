/** The gate of one egress, and flights above it, as tests drive them. */
import type { Clock } from "../../src/base/clock.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { ChatLoad } from "../../src/upstream/egress/chat-load.ts";
import { Flights } from "../../src/upstream/egress/flights.ts";
import { Gate, type GateSettings } from "../../src/upstream/egress/gate.ts";
import type { Lane } from "../../src/upstream/egress/lanes.ts";
import type { UpstreamError } from "../../src/upstream/upstream-error.ts";
import { FakeClock } from "./fake-clock.ts";

const SETTINGS: GateSettings = { spacingMs: 250, concurrency: 4, cooldownMs: 30_000, maxLatenessMs: 5000 };

interface Wishes {
  key?: string;
  kind?: string;
  lane?: Lane;
  isPage?: boolean;
  dueAt?: number;
  toleranceMs?: number;
  priorityMs?: number;
  maxCooldownMs?: number;
  beforeStart?: () => void;
  signal?: AbortSignal;
  /** How long its connection takes. */
  leavesAfterMs?: number;
  /** How long the call takes. */
  takesMs?: number;
  fails?: UpstreamError;
}

/** A gate on a clock of its own by default, with calls that take as long and end as a test wishes. */
export function gateBench<C extends Clock = FakeClock>(
  settings: Partial<GateSettings> = {},
  telemetry = new Telemetry(silentLog),
  egress = "direct",
  clock = new FakeClock() as Clock as C,
) {
  const gateSettings = { ...SETTINGS, ...settings };
  const load = new ChatLoad(gateSettings);
  const gate = new Gate(egress, gateSettings, load, { clock, telemetry });
  const flights = new Flights(gate, clock);
  const starts: { name: string; at: number }[] = [];
  let inFlight = 0;
  let peak = 0;
  let aborted = 0;
  const call = (name: string, wishes: Wishes = {}) => {
    const { leavesAfterMs = 0, takesMs = 10, fails, ...options } = wishes;
    const answered = flights.call({
      key: name,
      kind: "poll",
      lane: "poll",
      dueAt: clock.monotonic(),
      maxCooldownMs: Number.POSITIVE_INFINITY,
      signal: new AbortController().signal,
      ...options,
      run: async (signal, onSent) => {
        starts.push({ name, at: clock.monotonic() });
        inFlight += 1;
        peak = Math.max(peak, inFlight);
        try {
          if (leavesAfterMs > 0) await clock.sleep(leavesAfterMs, signal);
          onSent();
          await clock.sleep(takesMs, signal);
        } catch (error) {
          aborted += 1;
          throw error;
        } finally {
          inFlight -= 1;
        }
        if (fails) throw fails;
        return name;
      },
    });
    return answered.then(({ value }) => value);
  };
  return { clock, gate, load, call, starts, peak: () => peak, aborted: () => aborted };
}
