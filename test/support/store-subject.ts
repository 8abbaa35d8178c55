/**
 * What a test of a store starts from: a store of its own, a wall clock, and the names that the tests share.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { TestContext } from "node:test";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { ClockWitness } from "../../src/base/clock-witness.ts";
import { type ObservedStore, observed, type StoreEngine } from "../../src/store/observed.ts";
import { openStore } from "../../src/store/open.ts";
import { StoreError } from "../../src/store/store-error.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { BORN_MS, messages, own } from "./store-reading.ts";

export { BORN_MS };

export type FullStore = ObservedStore;

export interface Subject {
  store: FullStore;
  wall: Wall;
  /** Opens the same store again after a close. */
  reopen: () => Promise<FullStore>;
  /** From now on, each commit with a message of this id fails. */
  poison: (id: string) => Promise<void>;
}
export type NewSubject = (t: TestContext) => Promise<Subject>;

export const ROOM = "dQw4w9WgXcQ";
export const OTHER = "-_0aZ9aaaaa";

/** Longer than a lease: a busy database may not take a room back while its store closes. */
export const LATER_MS = 10_000;

/** A store in which the test owns `ROOM`. */
export async function ownedRoom(subject: NewSubject, t: TestContext) {
  const opened = await subject(t);
  return { ...opened, claim: await own(opened.store, ROOM) };
}

export const isFenced = (error: unknown) => error instanceof StoreError && error.kind === "fenced";
export const isUnavailable = (error: unknown) => error instanceof StoreError && error.kind === "unavailable";

/** A wall clock that the test moves, with a witness that has heard nothing; all else is the system's. */
export interface Wall extends Clock {
  nowMs: number;
  witness: ClockWitness;
}

export function wallAt(nowMs: number): Wall {
  const witness = new ClockWitness(systemClock);
  const wall: Wall = { ...systemClock, nowMs, witness, now: () => wall.nowMs };
  return wall;
}

/** A folder that goes with the test. A relay whose own hook is a later one may still write in it. */
export async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "relay-store-"));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 9 }));
  return folder;
}

/** A path for a store file that is removed after the test. */
export async function temporaryFile(t: TestContext): Promise<string> {
  return join(await temporaryFolder(t), "relay.db");
}

/** A store in a file that goes with the test, open since `BORN_MS`. */
export async function fileStore(t: TestContext): Promise<{ path: string; store: FullStore }> {
  const path = await temporaryFile(t);
  return { path, store: await openFor(t, `sqlite:${path}`, wallAt(BORN_MS)) };
}

/** Makes each later commit with a message of this id fail: only the commit itself notices the orphan. */
export function poisonFile(path: string, id: string): void {
  using tool = new DatabaseSync(path);
  tool.exec(`create table parent (x primary key);
    create table child (x references parent (x) deferrable initially deferred);
    create trigger orphan before insert on message when new.id = '${id}'
    begin insert into child values (1); end`);
}

/** A store file with a room of 400 messages in it, closed. */
export async function filledFile(t: TestContext): Promise<string> {
  const { path, store } = await fileStore(t);
  const claim = await own(store, ROOM);
  await store.append(claim, BORN_MS, messages([...Array(400).keys()]), "");
  await store.close();
  return path;
}

/** An engine as the service uses it. */
export function observe(
  engine: StoreEngine,
  clock: Clock = systemClock,
  telemetry = new Telemetry(silentLog),
): ObservedStore {
  return observed(engine, clock, telemetry);
}

/** Opens a store that is closed with the test. */
export async function openFor(
  t: TestContext,
  url: string,
  clock: Clock & Partial<Pick<Wall, "witness">> = systemClock,
): Promise<FullStore> {
  const store = await openStore(url, clock, new Telemetry(silentLog), { witness: clock.witness });
  t.after(() => store.close());
  return store;
}
