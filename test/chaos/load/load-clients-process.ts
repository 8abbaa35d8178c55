/**
 * The way to load clients in a process of its own, so that reading costs neither the service nor its upstream
 * a turn.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { LoadClients } from "./load-clients.ts";
import type { Answer, Call, Order } from "./load-clients-child.ts";

export class LoadClientsProcess implements AsyncDisposable {
  readonly #child: ChildProcess = fork(new URL("./load-clients-child.ts", import.meta.url));
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;

  constructor() {
    this.#child.on("message", (answer: Answer) => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if ("failure" in answer) waiting?.reject(new Error(answer.failure));
      else waiting?.resolve(answer.value);
    });
    this.#child.on("exit", () => {
      for (const waiting of this.#waiting.values())
        waiting.reject(new Error("the readers' process has died"));
    });
  }

  /** Has the clients do what its method of that name does. Rejects as that does, and if the process dies. */
  tell<O extends Order>(
    order: O,
    ...args: Parameters<LoadClients[O]>
  ): Promise<Awaited<ReturnType<LoadClients[O]>>> {
    const id = ++this.#lastId;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    this.#child.send({ id, order, args } satisfies Call);
    return waiting.promise as Promise<Awaited<ReturnType<LoadClients[O]>>>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.disconnect();
    await once(this.#child, "exit");
  }
}
