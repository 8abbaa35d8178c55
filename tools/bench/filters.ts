/**
 * The cost of filters: CPU time of the service for batches to viewers with 8 and with 64 different filters,
 * against as many viewers without one. Every filter lets all of the chat through, so all viewers get the same
 * number of bytes, which is the most expensive case.
 *
 *     npm run bench -- filters [--viewers 2000 --batches 40]
 */
import { MESSAGE_TYPES } from "../../src/protocol/kinds.ts";
import { type Figures, inRounds, median, ratio, report, settings } from "./rounds.ts";
import { serveRelay } from "./servers.ts";
import { batchesOf, EVERY_MS, watched } from "./watched.ts";

const { viewers, batches } = settings({ viewers: 2000, batches: 40 });

const others = MESSAGE_TYPES.filter((type) => type !== "chat" && type !== "gap");
const pairs = others.flatMap((one, i) => others.slice(i + 1).map((other) => `&types=chat,${one},${other}`));

const rows: Figures[] = [];
for (const [form, headers] of [
  ["plain", ""],
  ["compressed", "Accept-Encoding: gzip\r\n"],
] as const) {
  const pace = { RELAY_POLL_MIN_MS: String(EVERY_MS) };
  await using without = await serveRelay(pace);
  await using few = await serveRelay(pace);
  await using many = await serveRelay(pace);
  using everything = await watched(without, viewers, { headers });
  using eight = await watched(few, viewers, { headers, queries: pairs.slice(0, 8) });
  using sixtyFour = await watched(many, viewers, { headers, queries: pairs.slice(0, 64) });
  for (const size of [1, 10]) {
    await batchesOf(size, batches, everything); // warm
    const measured = await inRounds({
      everything: () => batchesOf(size, batches, everything),
      eight: () => batchesOf(size, batches, eight),
      sixtyFour: () => batchesOf(size, batches, sixtyFour),
    });
    rows.push({
      form,
      batch: size,
      viewers,
      everythingMicros: (median(measured.everything) * 1000) / viewers / batches,
      eightFilters: ratio(measured.eight, measured.everything),
      sixtyFourFilters: ratio(measured.sixtyFour, measured.everything),
    });
  }
}
report("filters", rows);
