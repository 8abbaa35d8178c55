/** What scripts and caches learn about a page of history besides its messages. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ask } from "../../support/api.ts";
import { B, linksIn, type Page, placesOf, several, withRoom } from "../../support/history.ts";
import { ROOM } from "../../support/store-subject.ts";

describe("the headers of a page", () => {
  it("link to the previous and the next page of the same query", async (t) => {
    const { url, get } = await withRoom(t);
    const follow = (target: string) => ask<Page>(url, `/v1/messages${target}`);
    const query = { videoId: `https://youtu.be/${ROOM}`, limit: 2, q: "says", to: B + 5000 };
    const second = await get({ ...query, after: B + 2 });
    const { next = "", prev = "" } = linksIn(second.headers);
    const fields = (target: string) => Object.fromEntries(new URLSearchParams(target));
    const shared = { videoId: ROOM, limit: "2", q: "says", to: `${B + 5000}` };
    assert.deepEqual(fields(next), { ...shared, after: `${B + 4}` });
    assert.deepEqual(fields(prev), { ...shared, before: `${B + 3}` });
    assert.deepEqual(placesOf(await follow(next)), [[5, 6], 6, 5]);
    assert.deepEqual(placesOf(await follow(prev)), [[1, 2], null, null]);
    const ranged = await get({ videoId: ROOM, after: B + 2, before: B + 7, limit: 3 });
    assert.deepEqual(Object.keys(linksIn(ranged.headers)), ["next"]);
    assert.deepEqual(placesOf(await follow(`${linksIn(ranged.headers).next}`)), [[6], null, null]);
    assert.equal((await get({ videoId: ROOM })).headers.get("link"), null);
  });

  it("let caches keep a full page after a cursor for ever, and no other", async (t) => {
    const { get, url, store, wall } = await withRoom(t);
    const control = async (query: Record<string, number>) =>
      (await get({ videoId: ROOM, ...query })).headers.get("cache-control");
    const forEver = "public, max-age=31536000, immutable";
    assert.equal(await control({ after: B + 2, limit: 3 }), forEver);
    assert.equal(await control({ after: 0, limit: 3 }), forEver);
    assert.equal(await control({ limit: 3 }), "no-cache");
    assert.equal(await control({ after: B + 7, limit: 3 }), "no-cache");
    assert.equal(await control({ before: B + 7, limit: 3 }), "no-cache");
    assert.equal(
      (await ask(url, "/v1/messages?videoId=never-heard")).headers.get("cache-control"),
      "no-store",
    );
    wall.nowMs += 1;
    await store.prune(0, 2);
    assert.equal(await control({ after: B + 1, limit: 3 }), "no-cache", "retention has begun to delete it");
    assert.equal(await control({ after: B + 2, limit: 3 }), forEver);
    const blanking = await withRoom(t, several(10), { RELAY_DELETED: "blank" });
    const { headers } = await blanking.get({ videoId: ROOM, after: B + 2, limit: 3 });
    assert.equal(headers.get("cache-control"), "no-cache");
  });

  it("have a tag, which answers 304 until the page changes", async (t) => {
    const { url, get, store, claim } = await withRoom(t);
    const path = `/v1/messages?videoId=${ROOM}&limit=5`;
    const { headers } = await get({ videoId: ROOM, limit: 5 });
    const etag = headers.get("etag") ?? "";
    assert.match(etag, /^W\/"[\w-]{22}"$/);
    const known = (tag: string) => fetch(url + path, { headers: { "if-none-match": tag } });
    for (const tag of [etag, `"other", ${etag}`, "*", etag.slice(2)]) {
      const same = await known(tag);
      assert.deepEqual([same.status, await same.text()], [304, ""]);
      for (const name of ["etag", "vary", "cache-control", "link"])
        assert.equal(same.headers.get(name), headers.get(name), name);
    }
    assert.equal((await known('"other"')).status, 200);
    await store.append(claim, B + 10, several(1, 10), "");
    assert.equal((await known(etag)).status, 200);
  });

  it("keep the tag of an immutable page when the room goes on", async (t) => {
    const { get, store, claim } = await withRoom(t);
    const page = async () => {
      const { headers, body } = await get({ videoId: ROOM, after: B + 2, limit: 3 });
      return { kept: headers.get("cache-control"), tag: headers.get("etag"), body };
    };
    const before = await page();
    await store.append(claim, B + 10, several(1, 10), "");
    const after = await page();
    assert.match(before.kept ?? "", /immutable/);
    assert.notDeepEqual(after.body, before.body); // with another head
    assert.equal(after.tag, before.tag);
  });

  it("have a tag for each format and neighbour, even if the lines are the same", async (t) => {
    const { url, text, store, claim } = await withRoom(t);
    const tagOf = async (query: Record<string, string | number>) => {
      const asked = Object.entries({ videoId: ROOM, ...query }).map(([name, value]) => [name, `${value}`]);
      const { headers } = await fetch(`${url}/v1/messages?${new URLSearchParams(asked)}`);
      return headers.get("etag");
    };
    const formats = ["json", "ndjson", "csv", "text"];
    const none = await Promise.all(formats.map((format) => tagOf({ format, q: "never said" })));
    assert.equal(new Set(none).size, formats.length);
    const last = { videoId: ROOM, format: "ndjson", after: B + 7, limit: 3 };
    const lines = await text(last);
    const atHead = await tagOf(last);
    await store.append(claim, B + 10, several(1, 10), "");
    assert.equal(await text(last), lines);
    assert.notEqual(await tagOf(last), atHead);
  });

  it("vary, and are readable for pages of other origins", async (t) => {
    const { get } = await withRoom(t);
    const { headers } = await get({ videoId: ROOM });
    assert.equal(headers.get("vary"), "Accept, Accept-Encoding");
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.match(headers.get("access-control-expose-headers") ?? "", /^ETag, Link, Retry-After,/);
    assert.equal(headers.get("access-control-allow-origin"), "*");
  });

  it("say whether a page is compressed, which RELAY_COMPRESSION=off turns off", async (t) => {
    const gzip = { "accept-encoding": "gzip" };
    const { get } = await withRoom(t, several(100));
    const zipped = await get({ videoId: ROOM }, gzip);
    assert.equal(zipped.headers.get("content-encoding"), "gzip");
    const plain = await get({ videoId: ROOM }, { "accept-encoding": "identity" });
    assert.equal(plain.headers.get("content-encoding"), null);
    assert.deepEqual(zipped.body, plain.body);
    const off = await withRoom(t, several(100), { RELAY_COMPRESSION: "off" });
    assert.equal((await off.get({ videoId: ROOM }, gzip)).headers.get("content-encoding"), null);
  });
});
