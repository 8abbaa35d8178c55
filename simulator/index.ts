/** The simulated upstream: everything that a caller needs to start and control one. */
export { END_SHAPES, type EndShape } from "./answers.ts";
export type { Failure } from "./faults.ts";
export { SPECIES } from "./generator.ts";
export { realisticHold } from "./scenario.ts";
export type { Broadcast, Channel } from "./simulated-channel.ts";
export {
  type InProcessSimulator,
  type Simulator,
  type SimulatorOptions,
  simulateInProcess,
  startSimulator,
} from "./simulator.ts";
