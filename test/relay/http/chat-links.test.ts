/** What a person finds at addresses of YouTube's form on this host, and where there is nothing. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ask, assertRefused } from "../../support/api.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";

const VIDEO = "dQw4w9WgX-_";
const CHANNEL = `UC${"x".repeat(22)}`;
/** As browsers send it for a page. */
const PERSON = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

/** The query of the page, by path. */
const LEADS: Readonly<Record<string, Record<string, string>>> = {
  [`/watch?v=${VIDEO}`]: { videoId: VIDEO },
  [`/watch?app=desktop&v=${VIDEO}&t=1h2m3s`]: { videoId: VIDEO, t: "1h2m3s" },
  [`/live/${VIDEO}?si=AbC&t=90`]: { videoId: VIDEO, t: "90" },
  [`/live/${VIDEO}/?t=90s`]: { videoId: VIDEO, t: "90s" },
  [`/shorts/${VIDEO}?t=soon`]: { videoId: VIDEO },
  "/@LofiGirl": { channel: "@lofigirl" },
  "/@LofiGirl/streams": { channel: "@lofigirl" },
  "/%40LofiGirl": { channel: "@lofigirl" },
  "/@%E3%81%82%E3%81%84": { channel: "@あい" },
  [`/channel/${CHANNEL}`]: { channel: CHANNEL },
  [`/channel/${CHANNEL}/live?t=5`]: { channel: CHANNEL, t: "5" },
};
const NOWHERE = [
  "/watch",
  "/watch?v=",
  "/watch?v=short",
  `/watch?v=${VIDEO}x`,
  "/live/short",
  "/live/",
  "/shorts",
  "/@",
  "/@a%20b",
  "/channel/UCshort",
  `/live/${VIDEO}${"x".repeat(4000)}`,
  "/nothing/of/this/service?x=<script>alert(1)</script>",
  "/%22%3E%3Cscript%3E/x",
  "/web/page/none.js",
  "/metricsx",
  "//",
];

describe("an address of YouTube's form on this host", () => {
  let relay: TestRelay;
  before(async () => {
    relay = await startRelay();
  });
  after(() => relay[Symbol.asyncDispose]());

  for (const [path, query] of Object.entries(LEADS))
    it(`${path} leads to its chat's page, also behind a proxy`, async () => {
      for (const method of ["GET", "HEAD"]) {
        const { status, headers } = await fetch(relay.url + path, { method, redirect: "manual" });
        assert.equal(status, 302);
        const location = headers.get("location") ?? assert.fail("no location");
        const { pathname, searchParams } = new URL(location, `https://example.org/prefix${path}`);
        assert.deepEqual([pathname, Object.fromEntries(searchParams)], ["/prefix/", query]);
      }
    });

  it("does not pass a token on in its redirect", async () => {
    const { headers } = await fetch(`${relay.url}/live/${VIDEO}?access_token=secret`, { redirect: "manual" });
    assert.equal(headers.get("location"), `../?videoId=${VIDEO}`);
  });

  it("redirects neither a POST nor a path of the API", async () => {
    const posted = await ask(relay.url, `/live/${VIDEO}`, { method: "POST" });
    assertRefused(posted, 404, "NOT_FOUND");
    assertRefused(await ask(relay.url, `/v1/live/${VIDEO}`), 404, "NOT_FOUND");
  });

  for (const path of NOWHERE)
    it(`${path.slice(0, 34)} is a page that leads people home, and JSON for programs`, async () => {
      const response = await fetch(relay.url + path, { headers: PERSON, redirect: "manual" });
      const { status, headers } = response;
      assert.equal(status, 404);
      assert.equal(headers.get("content-type"), "text/html; charset=utf-8");
      assert.equal(headers.get("cache-control"), "no-store");
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.equal(headers.get("referrer-policy"), "no-referrer");
      const policy = (await fetch(relay.url)).headers.get("content-security-policy");
      assert.equal(headers.get("content-security-policy"), policy);
      const html = await response.text();
      assert.doesNotMatch(html, /<script>|onerror/);
      const [, home = ""] = /<a [^>]*href="([^"]*)"/.exec(html) ?? [];
      assert.equal(new URL(home, `https://example.org/prefix${path}`).pathname, "/prefix/");
      for (const [, file = ""] of html.matchAll(/(?:src|href)="([^"]*web[^"]*)"/g)) {
        const { ok } = await fetch(new URL(file, relay.url + path));
        assert.ok(ok, file);
      }
      for (const accept of ["*/*", "application/json", "text/html;q=0"])
        assertRefused(await ask(relay.url, path, { headers: { accept } }), 404, "NOT_FOUND");
    });

  for (const path of ["/v1/nothing", "/v1/recordings", "/metrics/x", "/v1/"])
    it(`${path} is JSON for everybody`, async () => {
      assertRefused(await ask(relay.url, path, { headers: PERSON }), 404, "NOT_FOUND");
    });
});
