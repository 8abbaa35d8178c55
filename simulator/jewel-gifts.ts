/**
 * Gifts that viewers pay for in jewels. A gift appears as an item of the chat, as a widget above it, or as
 * both under two ids. The same gift again raises the widget's combo, and each raise is paid. Some pictures
 * appear alone.
 */
import { type Author, newAuthor, type Origin } from "./author.ts";
import type { Spoken } from "./banners.ts";
import { type Item, writeId } from "./items.ts";
import type { JsonObject } from "./plain-json.ts";
import type { Random } from "./random.ts";
import { type Says, says } from "./says.ts";
import * as words from "./words.ts";

type Gift = (typeof words.GIFTS)[number];

/** A widget whose combo can rise. */
interface Streak {
  id: string;
  author: Author;
  gift: Gift;
  combo: number;
}

/** Two forms at most this far apart are one gift, in microseconds. */
const PAIR_USEC = 10_000_000;

export class Jewels {
  readonly #random: Random;
  #streak: Streak | undefined;
  #due: { until: number; form: Spoken | Item } | undefined;

  constructor(random: Random) {
    this.#random = random;
  }

  /**
   * The second form of the last gift, if it is due. It has the message of the first form, because they are
   * one gift.
   */
  takeDue(usec: number): Spoken | Item | undefined {
    const due = this.#due;
    this.#due = undefined;
    return due && usec <= due.until ? due.form : undefined;
  }

  /** The next gift, from a new author, so that no two equal gifts can be mistaken for one. */
  next({ id, usec }: Origin): Spoken | Item {
    const random = this.#random;
    if (this.#streak && random.chance(0.4)) return this.#raise(this.#streak);
    const [author, gift] = [newAuthor(random), random.pick(words.GIFTS)];
    if (random.chance(0.1)) return picture(id, gift);
    const isListed = random.chance(0.7);
    if (isListed && random.chance(0.5)) return listed(id, author, gift, random);
    const streak = { id: isListed ? writeId(random) : id, author, gift, combo: 1 };
    this.#streak = streak;
    if (!isListed) return widget(streak, random);
    const forms: [Spoken | Item, Spoken | Item] = [listed(id, author, gift, random), widget(streak, random)];
    if (random.chance(0.5)) forms.reverse();
    const [first, second] = forms;
    this.#due = { until: Number(usec) + PAIR_USEC, form: { ...second, says: first.says } as Spoken | Item };
    return first;
  }

  #raise(streak: Streak): Spoken {
    streak.combo++;
    return widget(streak, this.#random);
  }
}

function said(id: string, { name }: Author, message: string, { price }: Gift): Says {
  return { ...says("jewels", id, name, message), jewels: price };
}

function pictureOf({ slug }: Gift): JsonObject {
  const sources = [320, 640].map((size) => ({
    url: `//www.gstatic.com/youtube/img/pdg/gift/assets/${slug}_v2_320x320.png=w${size}-h${size}`,
    width: size,
    height: size,
  }));
  return { sources };
}

function avatarOf({ photo }: Author): JsonObject {
  const image = { sources: photo.thumbnails };
  return { avatarViewModel: { image, avatarImageSize: "AVATAR_SIZE_XS" } };
}

/** An item of the list: no channel, no time, a name with a trailing space, its sentence in three forms. */
function listed(id: string, author: Author, gift: Gift, random: Random): Item {
  const { name, japanese, price } = gift;
  const content = random.pick([
    `sent ${name} for ${price} Jewels`,
    `sent ${name}`,
    `${japanese} を送信しました`,
  ]);
  return {
    key: "giftMessageViewModel",
    says: said(id, author, content, gift),
    renderer: {
      text: { content, styleRuns: [{ startIndex: 0, length: content.length }] },
      authorName: { content: `${author.name} `, styleRuns: [{ startIndex: 0, length: author.name.length }] },
      id,
      ...(random.chance(0.45) && { authorAvatar: avatarOf(author) }),
      giftImage: pictureOf(gift),
      giftImageA11yLabel: `${author.name} sent a gift, ${name}`,
      rendererContext: {
        loggingContext: {
          loggingDirectives: { trackingParams: random.text(18), visibility: { types: "12" } },
        },
      },
    },
  };
}

/** A widget. The giver's channel is not in the view model, but in an object before or after it. */
function widget({ id, author, gift, combo }: Streak, random: Random): Spoken {
  const giftAttributionItemViewModel = {
    id,
    authorAvatar: avatarOf(author),
    authorName: { content: author.name },
    detailText: { content: "Sent a gift" },
    attributionImage: pictureOf(gift),
    giftA11yLabel: `${author.name} sent a gift, Image of ${gift.name}`,
    comboCount: combo,
  };
  const compatibilityOptions = { liveChatId: id, liveChatAuthorExternalChannelId: author.channelId };
  const elementRenderer = { compatibilityOptions, trackingParams: random.text(18) };
  const content = random.chance(0.5)
    ? { giftAttributionItemViewModel, elementRenderer }
    : { elementRenderer, giftAttributionItemViewModel };
  const spoken = said(combo > 1 ? `${id}:${combo}` : id, author, "Sent a gift", gift);
  return {
    action: updateWidget("widgetRenderer", { id, type: "INTERACTIVITY_WIDGET_TYPE_GIFT", content }),
    says: { ...spoken, authorId: author.channelId },
  };
}

/** The picture that moves over the video; it does not name the giver. */
function picture(id: string, gift: Gift): Spoken {
  const content = { giftOverlayItemViewModel: { overlayImage: pictureOf(gift), imageDisplayWidth: 320 } };
  return {
    action: updateWidget("companionWidgetRenderer", { id, type: "INTERACTIVITY_WIDGET_TYPE_GIFT", content }),
  };
}

function updateWidget(holder: string, interactivityWidgetRenderer: JsonObject): JsonObject {
  return {
    updateOrAddInteractivityWidgetAction: {
      [holder]: { interactivityWidgetRenderer: { ...interactivityWidgetRenderer, timeoutMs: 3000 } },
      displayImmediately: false,
    },
  };
}
