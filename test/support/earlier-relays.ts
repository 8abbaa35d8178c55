/** Relays that are gone when a run begins: what they leave in the metrics and in the log. */
import { DatabaseSync } from "node:sqlite";
import { startSimulator } from "../../simulator/index.ts";
import { systemClock } from "../../src/base/clock.ts";
import { openStore } from "../../src/store/open.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { ask } from "./api.ts";
import { eventually } from "./eventually.ts";
import { startRelay, type TestRelay } from "./relay.ts";
import { messages, own } from "./store-reading.ts";
import { Stream } from "./stream.ts";

export const UNREADABLE_VIDEO = "unreadable1";

/** Resolves when the metric is above zero, with whatever labels. */
async function moved({ telemetry }: TestRelay, name: string): Promise<void> {
  const isAbove = new RegExp(`^${name}(\\{.*\\})? [1-9]`, "m");
  await eventually(true, async () => isAbove.test(await telemetry.registry.metrics()));
}

/**
 * An open room whose checkpoint, totals and message no version of the service wrote, and which is resumed
 * after it was bootstrapped again, of a relay that is gone when the run begins.
 */
export async function unreadableRoom(telemetry: Telemetry, path: string): Promise<void> {
  const url = `sqlite:${path}`;
  const store = await openStore(url, systemClock, new Telemetry(silentLog));
  const claim = await own(store, UNREADABLE_VIDEO);
  await store.append(claim, claim.head, messages(["a"]), "nonsense");
  await store.close();
  const file = new DatabaseSync(path);
  file.exec("insert or replace into tally (room, cursor, totals) select key, head, 'nonsense' from room");
  file.exec("update message set body = 'nonsense'");
  file.close();
  await using upstream = await startSimulator();
  upstream.chat(UNREADABLE_VIDEO, { timeoutMs: 5 });
  const start = () => startRelay({ upstream, telemetry, settings: { RELAY_STORE: url } });
  {
    await using relay = await start();
    await moved(relay, 'relay_unreadable_checkpoints_total{part="position"}');
    await ask(relay.url, `/v1/rooms/${UNREADABLE_VIDEO}`);
    await moved(relay, "relay_unreadable_totals_total");
    await ask(relay.url, `/v1/messages?videoId=${UNREADABLE_VIDEO}`);
    await moved(relay, "relay_unreadable_rows_total");
    await moved(relay, "relay_rooms_opened_total");
  }
  await using again = await start();
  await moved(again, "relay_rooms_resumed_total");
}

/** A room that leaves a throttled egress for another, in a relay that is gone when the run begins. */
export async function movedRoom(telemetry: Telemetry, videoId: string): Promise<void> {
  const settings = { RELAY_EGRESS: "one=direct,two=direct", RELAY_COOLDOWN_MS: "5000" };
  await using relay = await startRelay({ telemetry, settings });
  relay.upstream.chat(videoId, { kinds: ["text"], timeoutMs: 5 }).speak(50);
  await using viewer = await Stream.open(relay.url, { videoId });
  await viewer.untilMessages(5); // its page shows them again, so there is no gap
  relay.upstream.fault({ on: "get_live_chat", times: 1, as: "quota" });
  await moved(relay, "relay_egress_moves_total");
}
