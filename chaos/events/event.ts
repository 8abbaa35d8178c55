/** What an event is, and what several of them do. */
import type { InjectedFault, Orders } from "../fault-injector.ts";
import type { World } from "../world.ts";

export interface Event {
  /** How often in one round. */
  times: number;
  /** Returns once the next may come; what it leaves behind (faults not yet met, viewers away) goes on meanwhile. */
  play(world: World): Promise<void>;
}

/** How long what was ordered within the service may take to happen. */
const FIRING_LIMIT_MS = 10_000;
/** Time for what follows from an event to arrive. */
export const ECHO_MS = 1000;

/** Orders something within the service, sees to it that its place is passed, and that it happened. */
export async function fire<S extends InjectedFault>(
  world: World,
  name: S,
  ...details: Orders[S]
): Promise<void> {
  const before = world.injector.counts().get(name) ?? 0;
  world.injector.arm(name, ...details);
  saySomething(world);
  const isFired = () => (world.injector.counts().get(name) ?? 0) > before;
  await world.until(isFired, `${name} to be passed`, FIRING_LIMIT_MS);
  world.verdict.count(`faults ${name}`);
}

function saySomething(world: World): void {
  for (const { chat } of world.liveRooms) chat.say(10);
}

/** A room's tokens are good for nothing any more. */
export function expire(world: World): void {
  const room = world.random.pick(world.rooms.filter(({ isOver }) => !isOver));
  room.chat.expireTokens();
  world.verdict.note(`the tokens of ${room.videoId} expire`);
  world.verdict.count("faults expired tokens");
}

/** Nothing that happened since made the service load a page of a room that it had. */
export function noBootstrap(world: World, since: number, what: string, videoId?: string): void {
  const pages = pagesSince(world, since).filter((page) => videoId === undefined || page.videoId === videoId);
  const [first] = pages;
  if (!first) return;
  world.verdict.violate(`${what} led to ${pages.length} page loads, the first of ${first.videoId}`);
}

/** The chats' pages that were asked for since. */
export function pagesSince(world: World, since: number) {
  return world.upstream.requests.filter(
    ({ at, kind }) => at >= since && (kind === "popout" || kind === "watch"),
  );
}
