/**
 * A stream that ends in every seed: its live chat is over, and after a while its replay is there. The two are
 * chats of their own. It draws from sequences of its own.
 */
import { END_SHAPES } from "../../simulator/answers.ts";
import { WALLS } from "../../simulator/pages.ts";
import { Random } from "../../simulator/random.ts";
import { RoomJudge } from "./room-judge.ts";
import { HOLD } from "./settings.ts";
import type { World } from "./world.ts";

/** The stream ends between these shares of the time of trouble. */
const ENDS_AFTER = 0.1;
const ENDS_BEFORE = 0.5;
/** The replay takes the place of a live chat that no answer has ended. */
const UNENDED = 0.3;
const WALLED = 0.2;

export class FinishedStream {
  readonly live: RoomJudge;
  readonly replay: RoomJudge;
  readonly #world: World;
  readonly #random: Random;

  constructor(world: World, number: number) {
    const videoId = `finished-${String(number).padStart(2, "0")}`;
    const scenario = { timeoutMs: 10_000, page: 20, pageSize: 40, tokens: "reusable", ...HOLD } as const;
    const chat = world.upstream.chat(videoId, scenario);
    this.#world = world;
    this.#random = new Random(world.seed, videoId);
    this.live = new RoomJudge(chat, world);
    this.replay = new RoomJudge(chat, world);
    this.replay.isReplay = true;
    this.replay.overSince = 0;
    this.replay.live = this.live;
    this.live.replay = this.replay;
    chat.say(this.#random.below(60));
  }

  async play(until: number): Promise<void> {
    const { scheduler, journal } = this.#world;
    const random = this.#random;
    const { chat, videoId } = this.live;
    const speech = chat.speak(random.pick([0.05, 0.1, 0.3, 0.8]));
    await scheduler.sleep(until * (ENDS_AFTER + (ENDS_BEFORE - ENDS_AFTER) * random.next()));
    speech.stop();
    this.live.overSince = scheduler.monotonic();
    if (random.chance(WALLED)) {
      const as = random.pick(WALLS);
      void this.#world.order(`wall ${as}`, { on: ["popout", "watch", "next"], videoId, times: 1000, as });
    }
    if (!random.chance(UNENDED)) {
      const shape = random.pick(END_SHAPES);
      chat.end(shape, { lastWords: random.chance(0.5) });
      journal.note(`over ${videoId} ${shape}`);
      await scheduler.sleep(random.pick([2000, 20_000, 60_000]) * random.next());
    }
    chat.change({ kind: "replay", timeoutMs: 5000 });
    journal.note(`replay ${videoId}`);
    journal.count("live chats replayed");
  }
}
