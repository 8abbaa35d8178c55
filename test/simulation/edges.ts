/**
 * The edges of a run, in tiers: those of the first follow the instances, those of another the tier above it.
 * Each request of an edge reaches any process of the tier above, as behind a load balancer.
 */

import { Random } from "../../simulator/random.ts";
import { type EdgeConfig, toEdgeConfig } from "../../src/cli/config.ts";
import { readFlags } from "../../src/cli/flags.ts";
import { EDGE_SETTINGS } from "../../src/cli/setting-table.ts";
import type { Logger } from "../../src/telemetry/logger.ts";
import { EdgeLife } from "../harness/edge-life.ts";
import { OriginLine } from "../harness/origin-line.ts";
import type { EdgeWaits } from "./edge-waits.ts";
import { Host, type HostParts } from "./host.ts";
import { JudgedEvents } from "./judged-events.ts";

/** A tier has about as many times the edges of the one above it. */
const SPREAD = 4;

/** The number of edges, and of the tiers that they form. */
export interface EdgeTiers {
  edges: number;
  tiers: number;
}

/** From a sequence of its own, so that seeds without edges stay as they are. Three in ten seeds have some. */
export function drawEdges(seed: number): EdgeTiers {
  const random = new Random(seed, "edges");
  const edges = random.chance(0.3) ? 1 + random.below(6) : 0;
  return { edges, tiers: edges === 0 ? 0 : 1 + random.below(Math.min(edges, 3)) };
}

interface EdgesWorld extends Pick<HostParts, "scheduler" | "journal"> {
  seed: number;
  waits: EdgeWaits;
  instances: readonly Host[];
  logOf(name: string): Logger;
  /** The viewers that are connected to an edge. */
  viewersOf(name: string): ReturnType<HostParts["viewers"]>;
}

/** The edges of all tiers, the first one first. */
export function edgesIn(world: EdgesWorld, { edges, tiers }: EdgeTiers): Edge[] {
  const { seed, scheduler, journal, waits, instances } = world;
  const config = drawConfig(seed);
  let above: readonly Host[] = instances;
  return sizesOf(edges, tiers).flatMap((size, index) => {
    const hosts = above;
    const tier = Array.from({ length: size }, (_, number) => {
      const name = `edge ${index + 1}.${number + 1}`;
      const random = new Random(seed, `line of ${name}`);
      const host = () => {
        const open = hosts.flatMap(({ life }) => life ?? []);
        return open.length > 1 ? random.pick(open) : open[0];
      };
      const line = new OriginLine({
        ...{ scheduler, random, host, ...countedStreams(name, journal) },
        streamRefused: (path, waitedMs) => waits.refused(path, waitedMs),
      });
      const viewers = () => world.viewersOf(name);
      const parts = { name, scheduler, journal, drainMs: 0, viewers };
      return new Edge({ ...parts, config, line, log: world.logOf(name) }, index === 0);
    });
    above = tier;
    return tier;
  });
}

interface EdgeParts extends HostParts {
  config: EdgeConfig;
  line: OriginLine;
  log: Logger;
}

export class Edge extends Host<EdgeLife> {
  readonly line: OriginLine;
  /** Whether it follows the instances, and no other edge. */
  readonly isFirst: boolean;
  readonly #parts: EdgeParts;

  constructor(parts: EdgeParts, isFirst: boolean) {
    super(parts);
    this.line = parts.line;
    this.isFirst = isFirst;
    this.#parts = parts;
  }

  protected begin(): Promise<EdgeLife> {
    const telemetry = new JudgedEvents({ ...this.#parts, isAlone: true });
    return EdgeLife.begin({ ...this.#parts, telemetry });
  }
}

function sizesOf(edges: number, tiers: number): number[] {
  const weights = Array.from({ length: tiers }, (_, tier) => SPREAD ** tier);
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  const above = weights.slice(0, -1).map((weight) => Math.max(1, Math.floor((edges * weight) / all)));
  return tiers === 0 ? [] : [...above, edges - above.reduce((sum, size) => sum + size, 0)];
}

/** A tail may be shorter than the backfill of its viewers. */
function drawConfig(seed: number): EdgeConfig {
  const random = new Random(seed, "settings of edges");
  const settings = {
    RELAY_ORIGIN: "http://origin",
    RELAY_GRACE_MS: `${random.pick([5000, 30_000, 90_000])}`,
    RELAY_EDGE_TAIL: `${random.pick([20, 500, 2000])}`,
  };
  return toEdgeConfig(readFlags(EDGE_SETTINGS, [], settings).values);
}

/** An edge has one stream for each room, whatever the number of its viewers. */
function countedStreams(name: string, journal: HostParts["journal"]) {
  const open = new Map<string, number>();
  const count = (path: string, by: number) => {
    const query = new URL(path, "http://origin").searchParams;
    const videoId = query.get("videoId");
    if (videoId === null || query.has("until")) return;
    const streams = (open.get(videoId) ?? 0) + by;
    open.set(videoId, streams);
    if (streams > 1) journal.violate("poller", videoId, `${name} has ${streams} streams of it`);
  };
  return {
    streamOpened: (path: string) => count(path, 1),
    streamClosed: (path: string) => count(path, -1),
  };
}
