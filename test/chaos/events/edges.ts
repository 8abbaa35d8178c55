/** Events of the edges: of their processes, and of the lines to their origins. */
import type { Edge } from "../edges.ts";
import type { World } from "../world.ts";
import type { Event } from "./event.ts";

const MAX_DOWN_MS = 1500;
/** Longer than three keepalive intervals, so that the edge gives the line up. */
const MAX_SILENT_MS = 5000;

/** An event of any edge. Another one may come while it lasts. */
function ofEdge(times: number, what: string, play: (world: World, edge: Edge) => Promise<void>): Event {
  return {
    times,
    async play(world) {
      const edge = world.random.pick(world.edges);
      world.verdict.note(`${what}, port ${new URL(edge.service.url).port}`);
      await play(world, edge);
      world.verdict.count(`edges ${what}`);
    },
  };
}

async function startAgain(world: World, { service }: Edge): Promise<void> {
  await service.exited;
  await world.pause(world.random.below(MAX_DOWN_MS));
  await service.start();
}

export const EDGE_EVENTS: Record<string, Event> = {
  "edge killed": ofEdge(4, "kills", async (world, edge) => {
    edge.service.signal("SIGKILL");
    await startAgain(world, edge);
  }),
  "edge stopped": ofEdge(2, "stops", async (world, edge) => {
    edge.service.signal("SIGTERM");
    const { code, signal } = await edge.service.exited;
    if (code !== 0) world.verdict.violate("stop", `the stop of an edge ended with ${code ?? signal}`);
    await startAgain(world, edge);
  }),
  "edge frozen": ofEdge(2, "freezes", async (world, { service }) => {
    service.signal("SIGSTOP");
    await world.pause(500 + world.random.below(4000));
    service.signal("SIGCONT");
  }),
  "edge's line cut": ofEdge(6, "line cuts", async (_, { line }) => line.cut()),
  "edge's line shut": ofEdge(4, "line shuts", async (world, { line }) => {
    line.shut();
    await world.pause(world.random.below(MAX_SILENT_MS));
    await line.open();
  }),
  "edge's line silent": ofEdge(4, "line silences", async (world, { line }) => {
    line.silence();
    await world.pause(world.random.below(MAX_SILENT_MS));
    line.speak();
  }),
  "all lines cut": {
    times: 2,
    async play(world) {
      for (const { line } of world.edges) line.cut();
      world.verdict.count("edges all lines cut");
    },
  },
};
