/** The simulated upstream: all that a caller needs to start one and to drive it. */
export type { EndShape } from "./answers.ts";
export type { Failure } from "./faults.ts";
export { SPECIES } from "./generator.ts";
export { realisticHold } from "./scenario.ts";
export {
  type InProcessSimulator,
  type Simulator,
  type SimulatorOptions,
  simulateInProcess,
  startSimulator,
} from "./simulator.ts";
