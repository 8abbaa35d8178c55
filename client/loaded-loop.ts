/** Runs a loop of calls whose module is loaded only once the caller iterates. */
import { foreignAnswer, type Service, withQuery } from "./relay-service.ts";
import { MAX_FAILURES, Retries } from "./retries.ts";
import type { Clock } from "./sdk-clock.ts";
import { isWanted, knownNames } from "./selection.ts";
import type { MessageOptions, TypeOrGroup } from "./types.ts";

/** The options that all loops have. */
type LoopOptions = MessageOptions<boolean, TypeOrGroup>;

/** What a loop takes from the modules that it must not import. */
export interface LoadedLoopParts {
  service: Service;
  clock: Clock;
  retries: Retries;
  /** The wanted types and groups that are known; empty for all. */
  types: readonly string[];
  isWanted: typeof isWanted;
  /** The path with a query of these values; those that are undefined or empty are left out. */
  path(path: string, values: Record<string, unknown>): string;
  /** The error for an answer with a good status that something else than the service has sent. */
  error(status: number): Error;
}

/** Yields what the loop of the module yields. */
export async function* loadedLoop<O extends LoopOptions>(
  load: () => Promise<{ loop(options: O, parts: LoadedLoopParts): AsyncGenerator<unknown, void, void> }>,
  service: Service,
  options: O,
  clock: Clock,
): AsyncGenerator<never, void, void> {
  const { loop } = await load();
  yield* loop(options, {
    service,
    clock,
    path: withQuery,
    error: foreignAnswer,
    retries: new Retries(options, clock, MAX_FAILURES),
    types: knownNames(options.types),
    isWanted,
  }) as AsyncGenerator<never, void, void>;
}
