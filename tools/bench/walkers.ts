/**
 * Clients that walk through a history: a process in which each one asks for a page, reads it, and asks for
 * the next one at once.
 */
import { type Child, runChild, startChild } from "./child.ts";

interface Walking {
  /** The URL of a page, without `after`. */
  url: string;
  /** The range of cursors over which the walks begin. */
  floor: number;
  head: number;
  count: number;
}

/** Resolves once each walker has read a page. They report the number of pages since then. */
export function startWalkers(walking: Walking): Promise<Child<number>> {
  return startChild(import.meta.url, walking);
}

async function walk({ url, floor, head, count }: Walking): Promise<() => number> {
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
  return () => pages;
}

if (import.meta.main) await runChild(walk);
