/**
 * Shows, chooses and takes away the featured message of a video, in each of its chats that has the message.
 * Refuses a message that is not stored, or was deleted.
 */
import { chatKeys } from "../protocol/chat-key.ts";
import { RelayError } from "../protocol/errors.ts";
import { storedChats } from "../serving/chat-choice.ts";
import { readFeatured, undeleted } from "../store/featured.ts";
import type { Store } from "../store/port.ts";
import { notStored } from "../store/store-error.ts";
import { isoOf } from "../store/stored-message.ts";

/** `featuredAt`: ISO 8601 in UTC; absent if no message is featured. */
interface ShownFeatured {
  messageId: string | null;
  featuredAt?: string;
}

/** All methods reject with `StoreError` "unavailable". */
export class Featuring {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Shows the live chat's featured message; without one, the replay's. */
  async show(videoId: string): Promise<ShownFeatured> {
    const found = await Promise.all(chatKeys(videoId).map((key) => readFeatured(this.#store, key)));
    const featured = found.find((each) => each !== undefined);
    if (!featured) return { messageId: null };
    return { messageId: featured.message.id, featuredAt: isoOf(featured.at) };
  }

  /**
   * Features a message in each chat of the video that has it, and nothing in the other. Rejects with
   * `RelayError` NOT_STORED if none has it, or it was deleted.
   */
  async put(videoId: string, messageId: string): Promise<void> {
    const store = this.#store;
    const keys = (await storedChats(store, videoId)).map(({ key }) => key);
    if (keys.length === 0) throw notStored(videoId);
    const found = await Promise.all(keys.map((key) => undeleted(store, key, messageId)));
    if (!found.some((message) => message !== undefined))
      throw new RelayError("NOT_STORED", `messageId: the video has no such message, or it was deleted.`);
    await Promise.all(keys.map((key, i) => store.setFeatured(key, found[i] ? messageId : null)));
  }

  async delete(videoId: string): Promise<void> {
    await Promise.all(chatKeys(videoId).map((key) => this.#store.setFeatured(key, null)));
  }
}
