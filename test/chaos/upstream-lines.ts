/** The lines of one process to all hosts of the upstream, which fail together. */
import type { Simulator } from "../../simulator/index.ts";
import { Line } from "./line.ts";

/** Nobody listens there. */
const NOWHERE = 1;

export class UpstreamLines implements AsyncDisposable {
  readonly #lines: readonly Line[];
  readonly #ports: readonly number[];

  /** `from`: the address that the upstream sees. */
  static async to({ urls: { main, music, mobile } }: Simulator, from?: string): Promise<UpstreamLines> {
    const ports = [main, music, mobile].map((url) => Number(new URL(url).port));
    return new UpstreamLines(await Promise.all(ports.map((port) => Line.to(port, from))));
  }

  private constructor(lines: readonly Line[]) {
    this.#lines = lines;
    this.#ports = lines.map(({ leadsTo }) => leadsTo);
  }

  /** What leads a service onto them. */
  get settings(): Record<string, string> {
    const [main = "", music = "", mobile = ""] = this.#lines.map(({ url }) => url);
    return {
      RELAY_UPSTREAM_URL: main,
      RELAY_UPSTREAM_MUSIC_URL: music,
      RELAY_UPSTREAM_MOBILE_URL: mobile,
    };
  }

  /** They refuse connections, break all, or pass nothing on, until `mend`. */
  lose(how: "refused" | "broken" | "silent"): void {
    for (const line of this.#lines) {
      if (how === "silent") line.silence();
      else if (how === "refused") line.shut();
      else line.leadsTo = NOWHERE;
      if (how === "broken") line.cut();
    }
  }

  /** They work again; does nothing where they do already. */
  async mend(): Promise<void> {
    for (const [n, line] of this.#lines.entries()) {
      await line.open();
      line.leadsTo = this.#ports[n] ?? NOWHERE;
      if (line.isSilent) line.speak();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const line of this.#lines) line.shut();
  }
}
