/**
 * What a load balancer sees of the service: `/readyz` asked again and again on one connection that is kept alive, until
 * it breaks.
 */
import { Agent, get } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

const EVERY_MS = 10;

export class Readiness {
  /** Wall time, milliseconds since 1970, of the last answer that welcomed new viewers. */
  lastReadyAt = 0;
  /** Of the first answer that did not. */
  firstUnreadyAt: number | undefined;
  /** Resolves when the connection has broken. */
  readonly gone: Promise<void>;
  readonly #url: URL;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(service: string) {
    this.#url = new URL("/readyz", service);
    this.gone = this.#watch();
  }

  async #watch(): Promise<void> {
    for (;;) {
      const status = await this.#ask().catch(() => undefined);
      if (status === undefined) break;
      if (status === 200) this.lastReadyAt = Date.now();
      else this.firstUnreadyAt ??= Date.now();
      await pause(EVERY_MS);
    }
    this.#agent.destroy();
  }

  #ask(): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const request = get(this.#url, { agent: this.#agent }, (response) => {
        response.resume().once("end", () => resolve(response.statusCode));
      });
      request.once("error", reject);
    });
  }
}
