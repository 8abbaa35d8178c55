/** A chat whose messages are featured and deleted, and a viewer that asks for the featured message. */
import assert from "node:assert/strict";
import type { JsonObject } from "../../simulator/plain-json.ts";
import { frameParser } from "../harness/clients/sse.ts";
import { eventually } from "./eventually.ts";
import { bearer } from "./tokens.ts";

const AUTHOR = "UCaaaaaaaaaaaaaaaaaaaaaa";

export const said = (id: string, words = `words of ${id}`): JsonObject => ({
  addChatItemAction: {
    item: {
      liveChatTextMessageRenderer: {
        id,
        authorExternalChannelId: AUTHOR,
        timestampUsec: "1767225600000000",
        authorName: { simpleText: "@ann" },
        message: { simpleText: words },
      },
    },
  },
});
export const deletion = (targetItemId: string): JsonObject => ({
  markChatItemAsDeletedAction: { targetItemId, deletedStateMessage: { simpleText: "gone" } },
});
export const authorDeletion: JsonObject = {
  markChatItemsByAuthorAsDeletedAction: { externalChannelId: AUTHOR },
};

export interface FeaturedData {
  videoId?: string;
  message: Record<string, unknown> | null;
  featuredAt?: string;
}

/** A connection of one of the streams, until it is closed. */
export class FeaturedViewer implements AsyncDisposable {
  /** By event; messages are those of the chat. */
  readonly events: { event: string; id: string | undefined; data: unknown }[] = [];
  readonly #cut = new AbortController();
  #read: Promise<void> = Promise.resolve();

  static async open(url: string, path: string): Promise<FeaturedViewer> {
    const viewer = new FeaturedViewer();
    const response = await fetch(url + path, { signal: viewer.#cut.signal });
    assert.equal(response.status, 200, path);
    const parser = frameParser({
      frame: ({ event, id, data }) => viewer.events.push({ event, id, data: JSON.parse(data) }),
    });
    const read = async () => {
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
    };
    viewer.#read = read().catch(() => {});
    return viewer;
  }

  get featured(): FeaturedData[] {
    return this.events.filter(({ event }) => event === "featured").map(({ data }) => data as FeaturedData);
  }

  get ids(): unknown[] {
    return this.featured.map(({ message }) => message?.id ?? null);
  }

  async untilFeatured(...ids: (string | null)[]): Promise<void> {
    await eventually(true, () => this.ids.length >= ids.length);
    assert.deepEqual(this.ids, ids);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cut.abort();
    await this.#read;
  }
}

/** Features a message of the video, with this token. */
export function putFeatured(
  url: string,
  videoId: string,
  messageId: string,
  token: string,
): Promise<Response> {
  return fetch(`${url}/v1/featured/${videoId}`, {
    method: "PUT",
    headers: { ...bearer(token), "content-type": "application/json" },
    body: JSON.stringify({ messageId }),
  });
}
