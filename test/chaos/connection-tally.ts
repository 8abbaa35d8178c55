/** Counts how the connections of one viewer end. */
import type { Verdict } from "./verdict.ts";

export class ConnectionTally {
  /** Why the last connection ended or was refused. */
  closeReason = "";
  readonly #verdict: Verdict;
  #isOpen = false;
  /** The service's life in which the connection began. */
  #life = 0;

  constructor(verdict: Verdict) {
    this.#verdict = verdict;
  }

  opened(): void {
    this.#isOpen = true;
    this.#life = this.#verdict.lives;
    this.closeReason = "";
  }

  refused(status: number, code: string): void {
    this.closeReason = `refused with ${status} ${code}`;
    this.#verdict.count(`refusals ${code}`);
  }

  /** `asked`: the client itself ended it. `knowsEnd`: its client knows that nothing more comes. */
  closed(asked: boolean, knowsEnd: boolean): void {
    this.closeReason = asked ? "closed by itself" : this.closeReason || "closed by the service";
    if (asked) this.#verdict.count("connections closed by viewers");
    else if (!this.#isOpen) this.#verdict.count("connections refused");
    else if (knowsEnd) this.#verdict.count("connections ended");
    else if (this.#life < this.#verdict.lives) this.#verdict.count("connections that went with the service");
    else this.#verdict.count("connections lost");
    this.#isOpen = false;
  }
}
