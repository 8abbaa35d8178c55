/** What this process keeps: counts of all that is alive. */
import assert from "node:assert/strict";
import { Session } from "node:inspector/promises";
import { getHeapStatistics } from "node:v8";

export interface Kept {
  /** The engine's heap, and buffers outside of it. */
  bytes: number;
  /** The entries of all maps and sets. */
  entries: number;
  /** The listeners of all emitters, and those that wait for a signal. */
  listeners: number;
  /** The timers of Node.js. */
  timers: number;
}

const session = new Session();
session.connect();

const EVENTS = 'process.getBuiltinModule("node:events")';
const SIZE = "({ size }) => size";
const LISTENERS = "(of) => of.eventNames().reduce((sum, name) => sum + of.listenerCount(name), 0)";
const WAITING = `(signal) => ${EVENTS}.getEventListeners(signal, "abort").length`;

export async function kept(): Promise<Kept> {
  // The first query collects all garbage.
  const entries = (await sum("Map", SIZE)) + (await sum("Set", SIZE));
  const listeners = (await sum(`${EVENTS}.EventEmitter`, LISTENERS)) + (await sum("AbortSignal", WAITING));
  const { used_heap_size, external_memory } = getHeapStatistics();
  const timers = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  return { bytes: used_heap_size + external_memory, entries, listeners, timers };
}

/** The largest maps and sets: their sizes and their last keys. */
export async function largest(): Promise<string[]> {
  const shown = `(all) => all.map((each) => [each.size, String([...each.keys()].at(-1)).slice(0, 60)])`;
  const both = await Promise.all(
    ["Map", "Set"].map((name) => inAll<[number, string][]>(name, `(${shown})(all.filter(isReal))`)),
  );
  return both
    .flat()
    .sort(([one], [other]) => other - one)
    .slice(0, 5)
    .map((each) => each.join(": "));
}

function sum(of: string, numberOf: string): Promise<number> {
  return inAll(of, `all.filter(isReal).reduce((sum, each) => sum + (${numberOf})(each), 0)`);
}

/** What the inspector answers that is read here: the types of Node.js lack `queryObjects`. */
interface Answer {
  result: { objectId: string; value: unknown };
  objects: { objectId: string };
  exceptionDetails?: { text: string };
}

function post(method: string, params: object): Promise<Answer> {
  return session.post(method, params) as Promise<unknown> as Promise<Answer>;
}

/** The value of an expression about `all` objects of a class that are alive, apart from prototypes. */
async function inAll<T>(of: string, expression: string): Promise<T> {
  const objectGroup = "kept";
  const { result } = await post("Runtime.evaluate", { expression: `${of}.prototype`, objectGroup });
  const { objects } = await post("Runtime.queryObjects", { prototypeObjectId: result.objectId, objectGroup });
  const isReal = '(each) => !Object.hasOwn(each, "constructor")';
  const found = await post("Runtime.callFunctionOn", {
    objectId: objects.objectId,
    functionDeclaration: `function () { const all = this, isReal = ${isReal}; return ${expression}; }`,
    returnByValue: true,
  });
  await post("Runtime.releaseObjectGroup", { objectGroup });
  assert.equal(found.exceptionDetails, undefined, expression);
  return found.result.value as T;
}
