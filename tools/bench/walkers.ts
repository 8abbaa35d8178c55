/**
 * Clients that walk through a history: a process in which each one asks for a page, reads it, and asks for
 * the next one at once. As a program it takes the options as one argument, as JSON.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

interface Walking {
  /** The URL of a page, without `after`. */
  url: string;
  /** The range of cursors over which the walks begin. */
  floor: number;
  head: number;
  count: number;
}

interface Walkers extends Disposable {
  /** The number of pages since the last call. */
  pages(): Promise<number>;
}

/** Resolves once each walker has read a page. */
export async function startWalkers(walking: Walking): Promise<Walkers> {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(walking)]);
  const died = once(child, "exit").then(() => Promise.reject(new Error("the walkers ended")));
  died.catch(() => {});
  await Promise.race([once(child, "message"), died]);
  return {
    pages: async () => {
      child.send("pages");
      return (await once(child, "message"))[0];
    },
    [Symbol.dispose]: () => void child.kill(),
  };
}

async function walk({ url, floor, head, count }: Walking): Promise<void> {
  let pages = 0;
  const begun = Array.from({ length: count }, async (_, walker) => {
    const first = floor + Math.floor(((head - floor) * walker) / count);
    let after: number | null = first;
    const page = async () => {
      const response = await fetch(`${url}&after=${after ?? first}`);
      ({ next: after } = (await response.json()) as { next: number | null });
      pages += 1;
    };
    await page();
    return page;
  });
  for (const page of await Promise.all(begun)) {
    void (async () => {
      for (;;) await page();
    })();
  }
  process.on("message", () => {
    process.send?.(pages);
    pages = 0;
  });
  process.on("disconnect", () => process.exit());
  process.send?.("ready");
}

if (import.meta.main) await walk(JSON.parse(process.argv[2] ?? ""));
