/** Healthy viewers of busy rooms. They must not notice the load that a scenario puts on the service. */
import { setTimeout as pause } from "node:timers/promises";
import type { LoadClientsProcess } from "./load-clients-process.ts";
import type { Report } from "./report.ts";
import type { CountedRoom, Stage } from "./stage.ts";

const POLL_MS = 100;
const SPOKEN_PER_SECOND = 10;
/** How long delays are measured before anything presses. */
const BEFORE_MS = 5000;
const PATIENCE_MS = 60_000;
/** What a healthy viewer may wait for a message: less than a browser waits before it reconnects. */
const MAX_DELAY_MS = 3000;

export class HealthyViewers {
  readonly rooms: readonly CountedRoom[];
  readonly #clients: LoadClientsProcess;
  readonly #report: Report;
  #traffic: { stop(): void }[] = [];

  /** This number of viewers opens each room. */
  static async open(stage: Stage, report: Report, viewers: number, ...videoIds: string[]) {
    const clients = stage.clients();
    const open = (videoId: string) => stage.room(videoId, POLL_MS, clients, { viewers, details: true });
    return new HealthyViewers(await Promise.all(videoIds.map(open)), clients, report);
  }

  private constructor(rooms: readonly CountedRoom[], clients: LoadClientsProcess, report: Report) {
    this.rooms = rooms;
    this.#clients = clients;
    this.#report = report;
  }

  /** The chats begin to speak; measures the delays while nothing presses. */
  async before(): Promise<void> {
    await haveAll(this.#clients, this.rooms);
    this.#traffic = this.rooms.map((room) => room.speak(SPOKEN_PER_SECOND));
    await this.#clients.tell("deliveries");
    await pause(BEFORE_MS);
    this.#report.times("healthy viewers' delay before, ms", await this.#clients.tell("deliveries"));
  }

  /** Delays before this moment no longer count. */
  async forget(): Promise<void> {
    await this.#clients.tell("deliveries");
  }

  /** Reports and judges the delays since the last look. */
  async during(): Promise<void> {
    const delays = await this.#clients.tell("deliveries");
    this.#report.times("healthy viewers' delay during, ms", delays);
    this.#report.promise(delays.count > 0, "no message came to the healthy viewers");
    const isLate = delays.max > MAX_DELAY_MS;
    this.#report.promise(!isLate, `the healthy viewers waited ${delays.max} ms for a message`);
  }

  comeBack(service: string, withinMs: number): Promise<void> {
    return this.#clients.tell("comeBack", { service, withinMs });
  }

  /** The chats fall silent: everybody has a stream, and on it everything, each message once. */
  async judge(): Promise<void> {
    for (const traffic of this.#traffic) traffic.stop();
    await judgeClients("healthy viewers", this.#clients, this.rooms, this.#report);
  }
}

/** Resolves to how many lack the end of their rooms after a minute, by video. */
async function haveAll(clients: LoadClientsProcess, rooms: readonly CountedRoom[]) {
  const lacking: [videoId: string, viewers: number][] = [];
  for (const { videoId, head } of rooms)
    lacking.push([videoId, await clients.tell("reached", videoId, head(), PATIENCE_MS)]);
  return lacking;
}

/** All have a stream, and on it everything that their rooms hold, each message once. */
export async function judgeClients(
  name: string,
  clients: LoadClientsProcess,
  rooms: readonly CountedRoom[],
  report: Report,
): Promise<void> {
  for (const [videoId, lacking] of await haveAll(clients, rooms))
    report.promise(lacking === 0, `${lacking} of the ${name} lack the end of ${videoId}`);
  const { viewers, open, faults } = await clients.tell("report");
  report.promise(open === viewers, `${viewers - open} of the ${name} have no stream`);
  report.faults(faults, `among the ${name}`);
}
