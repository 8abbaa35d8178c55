/**
 * Those between whom a service with rights distinguishes, in every seed: users whose tokens end during their
 * streams and are renewed, and strangers, who must get nothing. They come by the door of an instance
 * (`Door`); all other viewers of a run do not pass it, as if everything were public to them.
 */

import { Random } from "../../simulator/random.ts";
import { CapacityError } from "../../src/protocol/capacity.ts";
import { ChatAbsent } from "../../src/protocol/chat-standing.ts";
import { RelayError } from "../../src/protocol/errors.ts";
import { FORMS } from "../../src/serving/form.ts";
import { UpstreamError } from "../../src/upstream/upstream-error.ts";
import type { Door } from "../harness/door.ts";
import type { Journal } from "../harness/journal.ts";
import { Life } from "../harness/life.ts";
import type { OriginService } from "../harness/origin-api.ts";
import type { Scheduler } from "../harness/scheduler.ts";
import { SimulatedSink } from "../harness/sink.ts";
import { bearer, signedAtOnce } from "../support/tokens.ts";
import { PUBLIC } from "./settings.ts";
import type { Ask } from "./viewer.ts";
import type { World } from "./world.ts";

/** The longest time for which a connection may outlast its token: connections end once a second. */
const LATE_MS = 1500;
/** How long a token opens connections after its end, in seconds. */
const LEEWAY_S = 5;
/** The chance that a user's site hands out its last token again, though it has expired. */
const STALE = 0.15;
/** The mean time between two strangers. */
const STRANGER_MS = 8000;
const STRANGERS_STAY_MS = 2000;

interface UserParts {
  name: string;
  /** What its tokens give: `watch:` and the video that it watches, or its channel. */
  right: string;
  random: Random;
  scheduler: Scheduler;
  journal: Journal;
  /** Whether its tokens outlast the rest of the run. */
  isCalm(): boolean;
}

/** How a user asks; judges that its tokens open what they give, until they end and no longer. */
export function asUser({ name, right, random, scheduler, journal, isCalm }: UserParts): Ask {
  const violate = (what: string) => journal.violate("access", "", `user ${name} with ${right} ${what}`);
  let exp = 0;
  return async (service, asked, address, open, gone) => {
    const { clock, rooms, door } = withDoor(service);
    const isStale = exp > 0 && !isCalm() && random.chance(STALE);
    if (!isStale) exp = Math.ceil(clock.now() / 1000) + (isCalm() ? 600 : 2 + random.below(60));
    // A token opens connections for a little longer, which end when this is over, too.
    const endsAt = 1000 * (clock.now() < 1000 * exp ? exp : exp + LEEWAY_S);
    const isValid = clock.now() < endsAt;
    // With one connection for each user, a place that is not given back refuses the next one.
    const token = signedAtOnce({ exp, sub: name, viewers: 1, relay: [right] });
    const request = { ...asked, headers: { ...asked.headers, ...bearer(token) } };
    const opened = Promise.withResolvers<SimulatedSink>();
    const opening = () => {
      const sink = open();
      opened.resolve(sink);
      return sink;
    };
    try {
      await door.request(request, address, opening, gone);
    } catch (error) {
      const code = codeOf(error);
      journal.count(`users refused ${code}`);
      const isForToken = code === "UNAUTHORIZED" || code === "FORBIDDEN" || code === "subject";
      if (isForToken && isValid) violate(`is refused: ${error}`);
      if (!isForToken && !isValid) violate(`is told with an expired token: ${error}`);
      throw error;
    }
    if (!isValid) return violate("gets in with an expired token");
    journal.count("users let in");
    const sink = await opened.promise;
    void Promise.race([sink.closed, scheduler.sleep(Math.max(0, endsAt - clock.now()) + LATE_MS)]).then(
      () => {
        if (sink.closedBy === "end" && clock.now() >= endsAt) journal.count("users cut");
        if (!sink.closedBy && !rooms.stopped.aborted && !clock.isDead) violate("stays with an expired token");
      },
    );
  };
}

interface Sent {
  claims?: Record<string, unknown>;
  secret?: string;
  /** The refusal; undefined if the upstream decides, by the channel of the video, or fails to. */
  code?: string;
}

/** What strangers send, and how they must be refused. `exp`: an hour from now, in seconds. */
const STRANGERS: Record<string, (exp: number) => Sent> = {
  "without a token": () => ({ code: "UNAUTHORIZED" }),
  "with an expired token": (exp) => ({ claims: { exp: exp - 7200, relay: ["watch"] }, code: "UNAUTHORIZED" }),
  "with a forged token": (exp) => ({
    ...{ claims: { exp, relay: ["watch"] }, code: "UNAUTHORIZED" },
    secret: "another secret of thirty-two bytes, and more",
  }),
  "of another video": (exp) => ({ claims: { exp, relay: [`watch:${PUBLIC}`] }, code: "FORBIDDEN" }),
  "with other rights": (exp) => ({ claims: { exp, relay: ["rooms", "record"] }, code: "FORBIDDEN" }),
  "of another channel": (exp) => ({ claims: { exp, relay: ["watch:@another"] } }),
};

/** Strangers come, to chats that are open, stored or made up, and to the one that is public. */
export async function strangers(world: World, until: number): Promise<void> {
  const random = new Random(world.seed, "strangers");
  const { scheduler, instances, rooms } = world;
  for (let number = 0; scheduler.monotonic() < until; number++) {
    const [who, send] = random.pick(Object.entries(STRANGERS));
    const videoId = random.pick([random.pick(rooms).videoId, PUBLIC, `nobodys--${10 + random.below(90)}`]);
    const { life } = random.pick(instances);
    if (life) void stranger({ who, send, videoId, life, address: `stranger ${number}` }, world);
    await scheduler.sleep(2 * STRANGER_MS * random.next());
  }
}

interface StrangerParts {
  who: string;
  send(exp: number): Sent;
  videoId: string;
  life: Life;
  address: string;
}

/** One request, which is judged if its process lives to answer it. */
async function stranger(parts: StrangerParts, { scheduler, journal }: World): Promise<void> {
  const { who, send, videoId, life, address } = parts;
  const { claims, secret, code } = send(Math.ceil(life.clock.now() / 1000) + 3600);
  const headers = claims ? bearer(signedAtOnce(claims, secret)) : {};
  const request = { path: `/v1/stream?videoId=${videoId}&backfill=0`, headers };
  const sink = new SimulatedSink(FORMS.sse.plain.bare, () => {});
  const { signal } = new AbortController();
  const told = await withDoor(life)
    .door.request(request, address, () => sink, signal)
    .then(() => "gets in", codeOf);
  journal.count(`strangers ${who}`);
  if (videoId !== PUBLIC) {
    const isRefused = told !== "gets in" && (code === undefined || told === code);
    if (!isRefused) journal.violate("access", videoId, `a stranger ${who} is not refused, but ${told}`);
  } else if (told === "UNAUTHORIZED" || told === "FORBIDDEN")
    journal.violate("access", videoId, `a stranger ${who} is refused what is public: ${told}`);
  await scheduler.sleep(STRANGERS_STAY_MS);
  sink.leave();
}

function withDoor(service: OriginService): Life & { door: Door } {
  if (service instanceof Life && service.door) return service as Life & { door: Door };
  throw new Error("only instances have doors here");
}

/** The cause of a refusal; if it is CAPACITY, the cause of that. */
function codeOf(error: unknown): string {
  if (error instanceof ChatAbsent) return "NO_LIVE_CHAT";
  if (error instanceof CapacityError) return error.capacityCause;
  if (error instanceof RelayError) return error.code;
  return error instanceof UpstreamError ? error.fault : `${error}`;
}
