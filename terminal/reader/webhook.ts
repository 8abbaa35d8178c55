/**
 * Sends messages to a webhook in order, one at a time, each until it is accepted. Ids and signatures follow
 * Standard Webhooks (https://www.standardwebhooks.com), so receivers can check them with its libraries.
 */
import { createHmac } from "node:crypto";
import type { Clock } from "../../src/base/clock.ts";
import { VERSION } from "../../src/base/own-files.ts";
import { retry } from "../../src/base/retry.ts";
import { EXIT } from "../../src/cli/exit-codes.ts";
import type { ReceivedMessage } from "../../src/serving/history/received-message.ts";
import { CommandError, type Notice } from "./session.ts";

const TIMEOUT_MS = 15_000;
const WAITS = { firstMs: 1000, maxMs: 60_000 };
/** The status by which a receiver unsubscribes. */
const GONE = 410;
const MAX_RETRY_AFTER_S = 3600;
const FIXED_HEADERS = { "content-type": "application/json", "user-agent": `livechat-relay/${VERSION}` };

export class Webhook {
  readonly #url: URL;
  readonly #key: Buffer | undefined;
  readonly #videoId: string;
  readonly #notice: Notice;
  readonly #clock: Clock;

  /**
   * `secret`: `whsec_` and the key in base64, or any text, which then is the key. `videoId`: for messages
   * that do not name theirs.
   */
  constructor(url: URL, secret: string | undefined, videoId: string, notice: Notice, clock: Clock) {
    this.#url = url;
    this.#key = secret === undefined ? undefined : keyOf(secret);
    this.#videoId = videoId;
    this.#notice = notice;
    this.#clock = clock;
  }

  /**
   * Resolves after the receiver has answered 2xx. The receiver may get a message twice, with the same
   * `webhook-id`. Rejects with the signal's reason, and with `CommandError` if the receiver answers 410, or
   * if the URL cannot be called.
   */
  async post(message: ReceivedMessage, signal: AbortSignal): Promise<void> {
    const id = `${message.videoId ?? this.#videoId}:${message.cursor}`;
    const body = JSON.stringify(message);
    let hasFailed = false;
    await retry(
      WAITS,
      this.#clock,
      signal,
      (error) => error instanceof NotTaken,
      async () => {
        try {
          await this.#attempt(id, body, signal);
        } catch (error) {
          if (error instanceof NotTaken && !hasFailed)
            this.#notice(`${error.message}; retrying until it succeeds`);
          hasFailed = true;
          if (error instanceof NotTaken) await this.#clock.sleep(error.retryAfterMs, signal);
          throw error;
        }
      },
    );
    if (hasFailed) this.#notice("the webhook accepts messages again");
  }

  async #attempt(id: string, body: string, signal: AbortSignal): Promise<void> {
    const headers = { ...FIXED_HEADERS, ...this.#signed(id, body) };
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const init: RequestInit = { method: "POST", headers, body, redirect: "manual", signal: limit };
    let response: Response;
    try {
      response = await fetch(this.#url, init);
      await response.body?.cancel();
    } catch (error) {
      signal.throwIfAborted();
      const { cause = error } = error as Error;
      const { code, message } = cause as NodeJS.ErrnoException;
      // An error without a code is not the network's: this URL is never called, such as one with a bad port.
      if (error instanceof TypeError && code === undefined)
        throw new CommandError(
          EXIT.wrongUsage,
          `--post: ${this.#url.host} cannot be called (${message}): name another URL`,
        );
      throw new NotTaken(`the webhook cannot be reached (${code ?? message})`);
    }
    if (response.ok) return;
    if (response.status === GONE)
      throw new CommandError(EXIT.failed, "the webhook answered 410: it wants no more messages");
    const named = response.headers.get("retry-after") ?? "";
    const seconds = Number(named) || (Date.parse(named) - this.#clock.now()) / 1000; // it can be a date
    throw new NotTaken(
      `the webhook answered ${response.status}`,
      seconds > 0 ? Math.min(seconds, MAX_RETRY_AFTER_S) * 1000 : 0,
    );
  }

  #signed(id: string, body: string): Record<string, string> {
    const timestamp = Math.floor(this.#clock.now() / 1000);
    const headers = { "webhook-id": id, "webhook-timestamp": `${timestamp}` };
    if (!this.#key) return headers;
    const signature = createHmac("sha256", this.#key).update(`${id}.${timestamp}.${body}`).digest("base64");
    return { ...headers, "webhook-signature": `v1,${signature}` };
  }
}

class NotTaken extends Error {
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs = 0) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

function keyOf(secret: string): Buffer {
  const prefix = "whsec_";
  return secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), "base64") : Buffer.from(secret);
}
