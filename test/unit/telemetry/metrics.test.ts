/** The series of the metrics: known ones from the start, and few of them. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { CAPACITY_CAUSES } from "../../../src/protocol/capacity.ts";
import { ERRORS } from "../../../src/protocol/errors.ts";
import { GAP_REASONS, MESSAGE_TYPES } from "../../../src/protocol/kinds.ts";
import type { DropReason } from "../../../src/telemetry/action-events.ts";
import type { LookOutcome } from "../../../src/telemetry/channel-events.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import type { CheckpointPart } from "../../../src/telemetry/room-events.ts";
import type { StoreOperation, UnreadableRow } from "../../../src/telemetry/store-events.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import type { MoveReason, Walled } from "../../../src/telemetry/upstream-events.ts";
import type { ViewerDrop } from "../../../src/telemetry/viewer-events.ts";

/** All members of a union: the compiler names the one that is missing. */
const every = <T extends string>(members: Record<T, 0>): string[] => Object.keys(members);

const OPERATIONS = every<StoreOperation>({
  append: 0,
  finish: 0,
  read: 0,
  readTypes: 0,
  placeOfAuthor: 0,
  cursorAt: 0,
  messagesById: 0,
  find: 0,
  getRoom: 0,
  listRooms: 0,
  getChannels: 0,
  setChannels: 0,
  hasChannel: 0,
  setVideo: 0,
  keep: 0,
  getFeatured: 0,
  setFeatured: 0,
  usedBytes: 0,
  pruneRooms: 0,
  getAccount: 0,
  probeWrite: 0,
  age: 0,
  prune: 0,
  tally: 0,
  tallyRooms: 0,
  moveCursors: 0,
  listRecordings: 0,
  addRecording: 0,
  removeRecording: 0,
  runRecordings: 0,
  take: 0,
  watchedForMs: 0,
  wantedElsewhere: 0,
  oneTooMany: 0,
  giveBack: 0,
  renew: 0,
  setViewers: 0,
  sweep: 0,
  orphans: 0,
  release: 0,
});

/** The known values of each label of each counter. An egress is known once it is added. */
const EGRESS = ["office"];
const KNOWN: Record<string, Record<string, readonly string[]>> = {
  relay_dropped_actions_total: {
    kind: ["other"],
    reason: every<DropReason>({ unknown: 0, broken: 0, silent: 0, bug: 0 }),
  },
  relay_channel_looks_total: {
    outcome: every<LookOutcome>({
      live: 0,
      upcoming: 0,
      nothing: 0,
      absent: 0,
      throttled: 0,
      unreadable: 0,
    }),
  },
  relay_rooms_failed_total: { code: Object.keys(ERRORS) },
  relay_request_errors_total: { code: Object.keys(ERRORS) },
  relay_capacity_refusals_total: { cause: Object.keys(CAPACITY_CAUSES) },
  relay_messages_total: { type: MESSAGE_TYPES },
  relay_egress_moves_total: {
    egress: EGRESS,
    reason: every<MoveReason>({ throttled: 0, unreachable: 0, down: 0 }),
  },
  relay_upstream_throttled_total: { egress: EGRESS },
  relay_walls_total: {
    egress: EGRESS,
    concerns: every<Walled>({ address: 0, video: 0 }),
  },
  relay_unreadable_checkpoints_total: {
    part: every<CheckpointPart>({ position: 0, memory: 0 }),
  },
  relay_unreadable_rows_total: {
    part: every<Exclude<UnreadableRow["part"], "totals">>({ message: 0, end: 0 }),
  },
  relay_gaps_total: { reason: GAP_REASONS },
  relay_store_operations_total: { kind: OPERATIONS },
  relay_store_failures_total: { kind: OPERATIONS },
  relay_viewers_dropped_total: { reason: every<ViewerDrop>({ full: 0, rest: 0, broken: 0 }) },
};

/** The labels of all series with these values, as the metrics show them. */
function series(values: Record<string, readonly string[]>): string[] {
  const [first, ...others] = Object.entries(values).map(([label, known]) =>
    known.map((value) => `${label}="${value}"`),
  );
  return others.reduce((all, next) => all.flatMap((one) => next.map((two) => `${one},${two}`)), first ?? []);
}

it("counters start at zero for each known label value, so an alert sees the first increase", async () => {
  const telemetry = new Telemetry(silentLog);
  telemetry.upstream.egressAdded("office", {
    isUp: () => true,
    queuedCalls: () => 0,
    cooldownLeftMs: () => 0,
    roomCount: () => 0,
    roomsCarried: () => 0,
  });
  const open = ["relay_upstream_calls_total"]; // paths, clients and outcomes are the upstream's
  const text = await telemetry.registry.metrics();
  const labelled = telemetry.registry.getMetricsAsArray().filter((metric) => {
    const { name, type, labelNames = [] } = metric as typeof metric & { type: string; labelNames?: string[] };
    return type === "counter" && labelNames.length > 0 && !open.includes(name);
  });
  assert.deepEqual(labelled.map(({ name }) => name).sort(), Object.keys(KNOWN).sort());
  for (const [name, values] of Object.entries(KNOWN)) {
    const zeros = [...text.matchAll(new RegExp(`^${name}\\{(.+)\\} 0$`, "gm"))].map(([, labels]) => labels);
    assert.deepEqual(zeros.sort(), series(values).sort(), name);
  }
  for (const state of ["waiting", "recording", "failed"])
    assert.ok(text.includes(`\nrelay_recordings{state="${state}"} 0\n`), state);
});

it("docs/operations.md names every value of the labels whose values have a meaning of their own", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/operations.md"), "utf8");
  const [, causes = ""] = /^### Causes of CAPACITY$(.*?)^## /ms.exec(page) ?? [];
  const listedElsewhere = ["code", "egress", "kind", "type"]; // errors, settings, operations, messages
  for (const [name, labels] of Object.entries(KNOWN)) {
    const row = page.split("\n").find((line) => line.startsWith("|") && line.includes(`\`${name}\``)) ?? "";
    for (const [label, values] of Object.entries(labels)) {
      if (listedElsewhere.includes(label)) continue;
      const words = label === "cause" ? causes : row;
      for (const value of values) assert.ok(words.includes(`\`${value}\``), `${name}: ${label}="${value}"`);
    }
  }
});

it("metrics stay few, however many kinds the upstream invents", async () => {
  const telemetry = new Telemetry(silentLog);
  for (let i = 0; i < 1000; i++) {
    const kind = `brandNew${i}Action`;
    telemetry.actions.dropped([{ kind, reason: "unknown", count: 2, sample: "{}" }]);
  }
  telemetry.actions.known(["knownAction"]);
  telemetry.actions.readerFailed({ kind: "knownAction", error: new Error("a bug"), sample: "{}" });
  telemetry.actions.dropped([{ kind: "knownAction", reason: "broken", count: 3, sample: "{}" }]);
  const text = await telemetry.registry.metrics();
  const series = [...text.matchAll(/^relay_dropped_actions_total\{.*\} (\d+)$/gm)];
  assert.ok(series.length <= 200 + 4 + 3, `${series.length} series`);
  assert.equal(
    series.reduce((sum, [, count]) => sum + Number(count), 0),
    2000 + 1 + 3,
  );
  assert.match(text, /^relay_dropped_actions_total\{kind="knownAction",reason="broken"\} 3$/m);
  assert.match(text, /^relay_dropped_actions_total\{kind="other",reason="unknown"\} 1600$/m);
});
