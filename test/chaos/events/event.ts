/** The interface of an event, and functions that several events share. */
import type { InjectedFault, Orders } from "../fault-injector.ts";
import type { World } from "../world.ts";

export interface Event {
  /** Its number of times in one round. */
  times: number;
  /** Resolves when the next event may come; remaining effects (unused faults, absent viewers) continue. */
  play(world: World): Promise<void>;
}

/** Time limit for a fault ordered within the service to happen. */
const FIRING_LIMIT_MS = 10_000;
/** Time for the consequences of an event to arrive. */
export const ECHO_MS = 1000;

/** Orders a fault within the service, makes the service reach its place, and checks that it happened. */
export async function fire<S extends InjectedFault>(
  world: World,
  name: S,
  ...details: Orders[S]
): Promise<void> {
  const before = world.injector.counts().get(name) ?? 0;
  world.injector.arm(name, ...details);
  saySomething(world);
  const isFired = () => (world.injector.counts().get(name) ?? 0) > before;
  await world.until(isFired, `${name} to be passed`, { maxMs: FIRING_LIMIT_MS });
  world.verdict.count(`faults ${name}`);
}

function saySomething(world: World): void {
  for (const { chat } of world.liveRooms) chat.say(10);
}

/** Invalidates all tokens of a room. */
export function expire(world: World): void {
  const room = world.random.pick(world.rooms.filter(({ isOver }) => !isOver));
  room.chat.expireTokens();
  world.verdict.note(`the tokens of ${room.videoId} expire`);
  world.verdict.count("faults expired tokens");
}

/** Checks that nothing since then made the service load a page of a room that it had. */
export function noBootstrap(world: World, since: number, what: string, videoId?: string): void {
  const pages = pagesSince(world, since).filter((page) => videoId === undefined || page.videoId === videoId);
  const [first] = pages;
  if (!first) return;
  world.verdict.violate("pages", `${what} led to ${pages.length} page loads, the first of ${first.videoId}`);
}

/** The chat pages that were requested since. */
export function pagesSince(world: World, since: number) {
  return world.upstream.requests.filter(
    ({ at, kind }) => at >= since && (kind === "popout" || kind === "watch"),
  );
}
