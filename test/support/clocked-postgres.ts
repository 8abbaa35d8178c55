/**
 * PostgreSQL's store on a clock that the test owns: the database's time is that clock's before each
 * operation.
 */
import type { TestContext } from "node:test";
import { type ObservedStore, observed, type StoreEngine } from "../../src/store/observed.ts";
import { SHARED_DEFAULTS } from "../../src/store/open.ts";
import type { Ownership } from "../../src/store/ownership.ts";
import { openPostgres } from "../../src/store/postgres/open-postgres.ts";
import { StoreHealth } from "../../src/store/store-health.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { ownSchemaAndTime, type PostgresServer, UNHEARD } from "./postgres-server.ts";
import type { Wall } from "./store-subject.ts";

/** Resolves once the database has the clock's time; undefined if it has it already. */
type OnTime = () => Promise<void> | undefined;

const SETTINGS = { ...SHARED_DEFAULTS, graceMs: 0, listenUrl: UNHEARD };

/**
 * A database of the test's own: `open` opens a store on it, as often as it is called. From a call of `poison`
 * on, each commit with a message of that id fails.
 */
export async function clockedPostgres(t: TestContext, server: PostgresServer, clock: Wall) {
  const { url, setTime, execute } = await ownSchemaAndTime(t, server);
  let shown = clock.now();
  await setTime(shown);
  let setting: Promise<void> | undefined;
  const onTime = () => {
    const now = clock.now();
    if (now === shown) return setting;
    shown = now;
    const mine = Promise.resolve(setting)
      .then(() => setTime(now))
      .finally(() => {
        if (setting === mine) setting = undefined;
      });
    setting = mine;
    return setting;
  };
  const open = async (): Promise<ObservedStore> => {
    const telemetry = new Telemetry(silentLog);
    const health = new StoreHealth(clock, telemetry);
    await onTime();
    const now = () => clock.now();
    const ownClock = { ...clock, monotonic: now, uptime: now }; // run as the database's does
    const engine = await openPostgres(url, SETTINGS, ownClock, telemetry, health, clock.witness);
    const store = observed(timely(engine, onTime), clock, telemetry, health);
    t.after(() => store.close());
    return store;
  };
  const poison = (id: string) =>
    execute(`create function fail() returns trigger language plpgsql as
        $$ begin raise exception 'a test has filled the disk' using errcode = '53100'; end $$;
      create constraint trigger poison after insert on message deferrable initially deferred
        for each row when (new.id = '${id}') execute function fail()`);
  return { open, poison };
}

/** No call of these needs the time. */
const TIMELESS: ReadonlySet<string | symbol> = new Set<keyof StoreEngine | keyof Ownership>([
  "followers",
  "lost",
  "paceOf",
  "setViewers",
  "freed",
  "orphans",
]);

/** The engine, or a part of it, each of whose operations begins once the database has the clock's time. */
function timely<T extends object>(target: T, onTime: OnTime): T {
  return new Proxy(target, {
    get(real, key) {
      const value: unknown = Reflect.get(real, key, real);
      if (key === "ownership" || key === "recordings") return timely(value as object, onTime);
      if (typeof value !== "function") return value;
      if (TIMELESS.has(key)) return value.bind(real);
      return (...args: unknown[]) => {
        const waiting = onTime();
        const call = () => Reflect.apply(value, real, args);
        return waiting === undefined ? call() : waiting.then(call);
      };
    },
  });
}
