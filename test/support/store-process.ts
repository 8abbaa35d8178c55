/** A store in another process, as a test sees it: what it has acknowledged, and the end of it. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { ChatKey } from "../../src/protocol/chat-key.ts";
import { assertStored, readAll, stored } from "./store-reading.ts";
import type { FullStore } from "./store-subject.ts";

const WRITER = fileURLToPath(new URL("store-writer.ts", import.meta.url));
/** Halves the cost of a start. */
const PRELOAD = ["--import", new URL("compile-cache.js", import.meta.url).href];

/** The id of the nth message that a writer appends to a room, from 0. */
export function nthId(key: ChatKey, n: number): string {
  return `${key} ${n}`;
}

export class StoreProcess {
  readonly child: ChildProcess;
  /** The highest acknowledged head of each room. */
  readonly heads = new Map<string, number>();
  readonly #lines: AsyncIterator<string>;

  /** `prefix`: a command that runs the process, as `prlimit` does. */
  constructor(t: TestContext, path: string, keys: readonly ChatKey[], prefix: readonly string[] = []) {
    const [command = "", ...args] = [...prefix, process.execPath, ...PRELOAD, WRITER, path, ...keys];
    this.child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
    t.after(() => this.kill());
    assert.ok(this.child.stdout);
    this.#lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  /** The next line that begins so, without its first word; undefined once the process has ended. */
  async line(word: "added" | "unavailable" | "refused"): Promise<string | undefined> {
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done) return undefined;
      const [, first, rest = ""] = /^(\S+) (.*)$/.exec(value) ?? [];
      const [key = "", head] = rest.split(" ");
      if (first === "added") this.heads.set(key, Number(head));
      if (first === word) return rest;
    }
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, "exit");
    this.child.kill("SIGKILL");
    await exited;
  }

  /** Reads the acknowledgements before the end of the process. */
  async drain(): Promise<void> {
    while ((await this.line("added")) !== undefined);
  }

  /** Everything acknowledged is in the store, unchanged, dense, and in step with its checkpoint. */
  async assertKeptBy(store: FullStore): Promise<void> {
    for (const [key, acknowledged] of this.heads) {
      const room = await store.getRoom(key);
      assert.ok(room && room.head >= acknowledged, `${key}: ${acknowledged} is lost`);
      assert.equal(room.checkpoint, `${room.head}`);
      const ids = [...Array(room.head - room.base).keys()].map((n) => nthId(key, n));
      assertStored(await readAll(store, key), stored(room.base, ids));
    }
  }
}
