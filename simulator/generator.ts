/**
 * Generates chat actions from a seed, of every kind and in about real proportions. The same seed gives the
 * same ids and contents, except for times. Actions are consistent: deletions, replacements and tickers refer
 * to earlier items; a poll opens, changes and closes; a pinned message is unpinned.
 */

import type { Origin } from "./author.ts";
import { type Author, iconBadge, newAuthor } from "./author.ts";
import type { Spoken } from "./banners.ts";
import * as banners from "./banners.ts";
import type { Item, Thread } from "./items.ts";
import * as items from "./items.ts";
import { Jewels } from "./jewel-gifts.ts";
import type { Random } from "./random.ts";
import { says, wordsOf } from "./says.ts";
import { Poll } from "./simulated-poll.ts";

/** A kind of action: its share in ten thousand, and the function that makes one. */
interface Recipe {
  share: number;
  make(stage: Stage, origin: Origin, random: Random): Spoken;
}

const RECIPES = {
  text: { share: 8780, make: (stage, origin, random) => stage.add(items.text(origin, random), origin) },
  paid: { share: 250, make: (stage, origin, random) => stage.show(items.paid(origin, random), origin) },
  reply: { share: 20, make: (stage, origin, random) => stage.add(stage.reply(origin, random), origin) },
  sticker: { share: 60, make: (stage, origin, random) => stage.show(items.sticker(origin, random), origin) },
  membership: {
    share: 120,
    make: (stage, origin, random) => stage.show(items.membership(origin, random), origin),
  },
  milestone: {
    share: 80,
    make: (stage, origin, random) => stage.show(items.milestone(origin, random), origin),
  },
  upgrade: { share: 10, make: (stage, origin, random) => stage.show(items.upgrade(origin, random), origin) },
  gift: { share: 30, make: (stage, origin, random) => stage.show(items.gift(origin, random), origin) },
  redemption: {
    share: 120,
    make: (stage, origin, random) => stage.add(items.redemption(origin, random, stage.someone()), origin),
  },
  jewels: { share: 60, make: (stage, origin) => stage.give(stage.jewels.next(origin), origin) },
  donation: { share: 10, make: (stage, origin, random) => stage.add(items.donation(origin, random), origin) },
  placeholder: { share: 50, make: (stage, origin) => stage.add(items.placeholder(origin), origin) },
  mode: { share: 5, make: (stage, origin) => stage.add(items.modeChange(origin), origin) },
  engagement: { share: 15, make: (stage, origin) => stage.add(items.houseRules(origin), origin) },
  ticker: {
    share: 200,
    make: (stage, origin, random) => banners.ticker(stage.shown() ?? items.paid(origin, random)),
  },
  poll: { share: 40, make: (stage, origin) => stage.pollStep(origin) },
  banner: { share: 20, make: (stage, origin) => stage.pinOrUnpin(origin) },
  raid: { share: 5, make: (_, origin, random) => banners.raid(origin, random) },
  summary: { share: 5, make: (_, origin, random) => banners.summary(origin, random) },
  product: { share: 5, make: (_, origin, random) => banners.product(origin, random) },
  questions: { share: 5, make: (stage, origin) => banners.questions(origin, stage.ownerName) },
  deletion: { share: 70, make: (stage, _, random) => deletion(stage, random) },
  authorDeletion: { share: 30, make: (stage, _, random) => authorDeletion(stage, random) },
  replacement: { share: 30, make: (stage, origin, random) => replacement(stage, origin, random) },
  counts: { share: 10, make: (_, __, random) => ({ action: items.newCounts(random) }) },
  goal: { share: 5, make: (_, origin) => banners.goalChip(origin) },
  tooltip: { share: 5, make: banners.tooltip },
  aside: { share: 5, make: (_, origin, random) => banners.aside(origin, random) },
  unknown: { share: 10, make: (stage, origin, random) => unknown(stage, origin, random) },
} satisfies Record<string, Recipe>;

/** The name of a kind of action. */
export type Species = keyof typeof RECIPES;

/** Every kind of action. */
export const SPECIES = Object.keys(RECIPES) as Species[];

export class Generator {
  readonly #random: Random;
  readonly #stage: Stage;
  #usec = 0;

  /** `channelId` is the channel that streams. */
  constructor(random: Random, channelId: string) {
    this.#random = random;
    this.#stage = new Stage(random, channelId);
  }

  /**
   * The next action at `nowMs` (wall time): of one of the given kinds in their proportions, or of any kind.
   */
  next(nowMs: number, among: readonly Species[] = SPECIES): Spoken {
    const usec = this.nextUsec(nowMs);
    const origin = { id: items.writeId(this.#random), author: this.#stage.someone(), usec };
    const due = this.#stage.jewels.takeDue(this.#usec);
    const recipe: Recipe = RECIPES[this.#draw(among)];
    const {
      action,
      says,
      mutations = [],
    } = due ? this.#stage.give(due, origin) : recipe.make(this.#stage, origin, this.#random);
    const clickTrackingParams = `CAEQl98B${this.#random.text(18)}`;
    return {
      action: this.#random.chance(0.8) ? { clickTrackingParams, ...action } : action,
      says,
      mutations,
    };
  }

  /** The time of an action at `nowMs` (wall time), in microseconds: later than that of each before. */
  nextUsec(nowMs: number): string {
    this.#usec = Math.max(this.#usec + 1, Math.trunc(nowMs) * 1000);
    return String(this.#usec);
  }

  #draw(among: readonly Species[]): Species {
    let ticket = this.#random.next() * among.reduce((sum, name) => sum + RECIPES[name].share, 0);
    for (const name of among) {
      ticket -= RECIPES[name].share;
      if (ticket < 0) return name;
    }
    return among[0] ?? "text";
  }
}

const MAX_AUTHORS = 500;
const MAX_RECENT = 50;

/** The participants of the chat, and the items that later actions can refer to. */
class Stage {
  readonly jewels: Jewels;
  readonly #random: Random;
  readonly #owner: Author;
  readonly #authors: Author[] = [];
  readonly #recent: { id: string; channelId: string }[] = [];
  readonly #shown: Item[] = [];
  readonly #threads: Thread[] = [];
  #poll: Poll | undefined;
  #pinned: { id: string; banner: Spoken } | undefined;

  constructor(random: Random, channelId: string) {
    this.#random = random;
    this.jewels = new Jewels(random);
    this.#owner = { ...newAuthor(random), channelId, badges: [iconBadge("OWNER", "Owner")] };
  }

  get ownerName(): string {
    return this.#owner.name;
  }

  someone(): Author {
    if (this.#random.chance(0.005)) return this.#owner;
    const known = this.#authors[this.#random.below(MAX_AUTHORS)];
    if (known) return known;
    const author = newAuthor(this.#random);
    if (this.#random.chance(0.02)) author.badges.unshift(iconBadge("MODERATOR", "Moderator"));
    this.#authors.push(author);
    return author;
  }

  add({ key, renderer, says, mutations = [] }: Item, { id, author }: Origin): Spoken {
    this.#recent.push({ id, channelId: author.channelId });
    if (this.#recent.length > MAX_RECENT) this.#recent.shift();
    const clientId = `C${this.#random.text(19)}`;
    return { action: { addChatItemAction: { item: { [key]: renderer }, clientId } }, says, mutations };
  }

  /** A gift: an item of the chat, or a widget above it. */
  give(gift: Spoken | Item, origin: Origin): Spoken {
    return "key" in gift ? this.add(gift, origin) : gift;
  }

  /** A reply to one of the last paid messages; before the first, a text. */
  reply(origin: Origin, random: Random): Item {
    const thread = this.#threads[random.below(Math.max(1, this.#threads.length))];
    return thread ? items.reply(origin, random, thread) : items.text(origin, random);
  }

  /** Adds an item that a ticker may repeat. */
  show(item: Item, origin: Origin): Spoken {
    if (item.thread) this.#threads.push(item.thread);
    if (this.#threads.length > MAX_RECENT) this.#threads.shift();
    this.#shown.push(item);
    if (this.#shown.length > MAX_RECENT) this.#shown.shift();
    return this.add(item, origin);
  }

  /** The next item for a ticker to repeat. */
  shown(): Item | undefined {
    return this.#shown.pop();
  }

  /** An earlier item to delete or replace; before the first item, an unknown id. */
  target(): { id: string; channelId: string } {
    const recent = this.#recent[this.#random.below(Math.max(1, this.#recent.length))];
    return recent ?? { id: items.writeId(this.#random), channelId: this.someone().channelId };
  }

  pollStep(origin: Origin): Spoken {
    this.#poll ??= new Poll(origin.id, this.#owner.name, this.#random);
    const step = this.#poll.step();
    if (step) return step;
    const result = items.engagement(origin, "POLL", this.#poll.result());
    this.#poll = undefined;
    return this.add(result, origin);
  }

  pinOrUnpin(origin: Origin): Spoken {
    const before = this.#pinned;
    this.#pinned = undefined;
    if (before) return banners.unpinned(before.banner, before.id);
    const id = items.writeId(this.#random);
    const item = items.text({ ...origin, author: this.#owner }, this.#random);
    const banner = this.#random.chance(0.3)
      ? banners.pollBanner(id, this.#random)
      : banners.pinned(id, item, this.#owner.name);
    this.#pinned = { id, banner };
    return banner;
  }
}

/** A deletion in its older or its newer form. */
function deletion(stage: Stage, random: Random): Spoken {
  const targetItemId = stage.target().id;
  const deleted = (words: string) => says("deleted", `deleted:${targetItemId}`, "", words);
  if (random.chance(0.5)) return { action: { removeChatItemAction: { targetItemId } }, says: deleted("") };
  const runs = random.chance(0.5)
    ? [{ text: "[message retracted]" }]
    : [{ text: "Message deleted by " }, { text: stage.ownerName, bold: true }, { text: "." }];
  const action = { markChatItemAsDeletedAction: { deletedStateMessage: { runs }, targetItemId } };
  return { action, says: deleted(wordsOf(runs)) };
}

function authorDeletion(stage: Stage, random: Random): Spoken {
  const externalChannelId = stage.target().channelId;
  const deleted = (words: string) => says("author_deleted", `author_deleted:${externalChannelId}`, "", words);
  if (random.chance(0.5))
    return { action: { removeChatItemByAuthorAction: { externalChannelId } }, says: deleted("") };
  const runs = [{ text: "[message deleted]" }];
  const ban = { deletedStateMessage: { runs }, externalChannelId };
  return { action: { markChatItemsByAuthorAsDeletedAction: ban }, says: deleted(wordsOf(runs)) };
}

function replacement(stage: Stage, { author, usec }: Origin, random: Random): Spoken {
  const { id, channelId } = stage.target();
  const origin = { author: { ...author, channelId }, usec, id };
  const item = random.chance(0.3) ? items.placeholder(origin) : items.text(origin, random);
  const replacementItem = { [item.key]: item.renderer };
  const action = { replaceChatItemAction: { targetItemId: id, replacementItem } };
  return { action, says: item.says && { ...item.says, replaces: id } };
}

/** A future addition of the upstream: an action or item of an unknown kind. */
function unknown(stage: Stage, origin: Origin, random: Random): Spoken {
  const renderer = { id: origin.id, timestampUsec: origin.usec };
  if (random.chance(0.5)) return stage.add({ key: "liveChatFutureItemRenderer", renderer }, origin);
  const futureThingRenderer = { id: origin.id, title: { simpleText: "?" } };
  return { action: { showLiveChatFutureThingCommand: { futureThingRenderer } } };
}
