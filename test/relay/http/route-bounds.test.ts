/** The bounds of the routes: each has a row, the handbook prints them, and they hold. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { systemClock } from "../../../src/base/clock.ts";
import { ROUTE_RIGHTS } from "../../../src/http/access/route-rights.ts";
import { assertBounded, BOUNDS, PAGES, ROUTE_BOUNDS } from "../../../src/http/route-bounds.ts";
import { createServer } from "../../../src/http/server.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import { countRequests } from "../../support/begun-requests.ts";
import { ROOT } from "../../support/command.ts";
import { eventually } from "../../support/eventually.ts";
import { withRoom } from "../../support/history.ts";
import { roomsOn } from "../../support/rooms-on.ts";
import { observe, ROOM } from "../../support/store-subject.ts";

/** The table of docs/operations.md. */
function boundsTable(): string {
  const rows = Object.entries(BOUNDS).map(([name, { atOnce, waiting, inFlight }]) => {
    const routes = Object.entries(ROUTE_BOUNDS).flatMap(([route, bound]) => {
      const parts = typeof bound === "string" ? { "": bound } : bound;
      const shown = `\`${route.replaceAll(/:(\w+)/g, "{$1}")}\``;
      return Object.entries(parts)
        .filter((part) => part[1] === name)
        .map(([parameter]) => (parameter === "" ? shown : `${shown} with \`${parameter}\``));
    });
    return `| ${routes.join(", ")} | ${atOnce} | ${waiting} | ${inFlight} |\n`;
  });
  return `| Routes | At a time | Waiting | Bytes |\n|---|---|---|---|\n${rows.join("")}`;
}

describe("a route", () => {
  it("cannot be added without a bound", async () => {
    for (const route of Object.keys(ROUTE_RIGHTS)) assertBounded(route);
    await using parts = await roomsOn(observe(memoryStore(systemClock)));
    const app = await createServer(parts, parts.config.http);
    const rights: Record<string, string> = ROUTE_RIGHTS;
    rights["/v1/new"] = "open";
    assert.throws(() => app.get("/v1/new", () => ""), /\/v1\/new has no bound in ROUTE_BOUNDS/);
    delete rights["/v1/new"];
    await app.close();
  });

  it("has its bounds in docs/operations.md", () => {
    const page = readFileSync(join(ROOT, "docs/operations.md"), "utf8");
    const [, table] = /(\| Routes \| At a time.*?)\n\n/s.exec(page) ?? [];
    assert.equal(`${table}\n`, boundsTable());
  });
});

describe("an answer that many ask for at the same time", { timeout: 60_000 }, () => {
  for (const path of ["/v1/rooms", "/readyz"]) {
    it(`(${path}) is made once for all who ask meanwhile`, async (t) => {
      const { url, store } = await withRoom(t);
      const free = Promise.withResolvers<void>();
      let looks = 0;
      const held =
        <Args extends unknown[], T>(act: (...args: Args) => Promise<T>) =>
        async (...args: Args) => {
          looks += 1;
          await free.promise;
          return await act(...args);
        };
      store.listRooms = held(store.listRooms);
      store.isReady = held(store.isReady);
      const begun = countRequests(t, { url });
      const answers = Array.from({ length: 30 }, async () => (await fetch(url + path)).text());
      await eventually(true, () => looks > 0 && begun() === 30);
      free.resolve();
      assert.equal(new Set(await Promise.all(answers)).size, 1);
      assert.ok(looks <= 3, `${looks} looks`);
    });
  }

  it("of a room's totals is read four at a time, and refused while 500 more wait", async (t) => {
    const { url, store } = await withRoom(t);
    const free = Promise.withResolvers<void>();
    let now = 0;
    let most = 0;
    const { getAccount } = store;
    store.getAccount = async (...args) => {
      now += 1;
      most = Math.max(most, now);
      await free.promise;
      now -= 1;
      return await getAccount(...args);
    };
    const statuses: number[] = [];
    const asked = Array.from({ length: PAGES.atOnce + PAGES.waiting + 20 }, async () => {
      statuses.push((await fetch(`${url}/v1/rooms/${ROOM}`)).status);
    });
    await eventually(20, () => statuses.length);
    assert.deepEqual(new Set(statuses), new Set([503]));
    free.resolve();
    await Promise.all(asked);
    assert.equal(statuses.filter((status) => status === 200).length, 504);
    assert.equal(most, 4);
  });
});
