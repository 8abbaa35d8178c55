/** The table of the upstream's facts is whole and true. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { END_SHAPES } from "../../simulator/answers.ts";
import { NAMED_FAILURES } from "../../simulator/faults.ts";
import { SPECIES } from "../../simulator/generator.ts";
import { WALLS } from "../../simulator/pages.ts";
import { ABSENT_KINDS, DEFAULT_SCENARIO, PLACES } from "../../simulator/scenario.ts";
import type { ChannelScenario } from "../../simulator/simulated-channel.ts";
import type { SimulatorOptions } from "../../simulator/simulator.ts";
import { FAULT_KINDS } from "./events.ts";
import { type Drawn, FACTS, type Passage } from "./upstream-facts.ts";

const ROOT = join(import.meta.dirname, "../..");

/** The compiler keeps these two whole. */
const CHANNEL: Record<keyof ChannelScenario, true> = {
  ...{ title: true, layout: true, language: true, livePage: true, state: true },
};
const SIMULATOR: Record<keyof SimulatorOptions, true> = {
  ...{ seed: true, clock: true, ports: true, keepRequests: true, perAddress: true },
  ...{ serviceWorker: true, serviceWorkerData: true, pageCredentials: true },
};

/** Every switch of the simulator. */
const SWITCHES = [
  ...Object.keys(DEFAULT_SCENARIO).map((name) => `scenario ${name}`),
  ...Object.keys(CHANNEL).map((name) => `channel ${name}`),
  ...Object.keys(SIMULATOR).map((name) => `simulator ${name}`),
  ...["live", "upcoming", "replay", ...ABSENT_KINDS].map((kind) => `chat ${kind}`),
  ...PLACES.map((place) => `page ${place}`),
  ...WALLS.map((wall) => `wall ${wall}`),
  ...END_SHAPES.map((shape) => `end ${shape}`),
  ...SPECIES.map((name) => `action ${name}`),
  ...[...NAMED_FAILURES, "status", "delayMs", "drip", "redirect", "answer"].map((name) => `failure ${name}`),
];

const isPassage = (value: unknown): value is Passage =>
  Array.isArray(value) && value.length === 2 && /^(simulator|test)\/.*\.ts$/.test(String(value[0]));

function assertIn([file, text]: Passage, fact: string): void {
  assert.ok(readFileSync(join(ROOT, file), "utf8").includes(text), `${fact}: ${file} has no ${text}`);
}

test("each switch of the simulator has a row, and each row names only switches that exist", () => {
  const named = FACTS.flatMap((fact) => ("by" in fact && !isPassage(fact.by) ? fact.by : []));
  assert.deepEqual([...new Set(named)].sort(), [...SWITCHES].sort());
});

test("each row names where the fact is imitated, drawn and held", () => {
  const drawnAt = (drawn: Drawn, fact: string) => {
    if (isPassage(drawn)) assertIn(drawn, fact);
    else assert.ok(FAULT_KINDS.includes(String(drawn)), `${fact}: no run counts ${drawn}`);
  };
  for (const row of FACTS) {
    if (row.held) assertIn(row.held, row.fact);
    if ("not" in row) continue;
    if (isPassage(row.by)) assertIn(row.by, row.fact);
    if (!("not" in row.drawn)) for (const drawn of row.drawn) drawnAt(drawn, row.fact);
  }
});
