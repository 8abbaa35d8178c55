/** How the pages are served: their policy, their caching, and modules that a browser can load. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ask, assertRefused } from "../../support/api.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";

const BOTH = [
  "default-src 'none'",
  "script-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "object-src 'none'",
];
const PICTURES =
  "img-src 'self' data: https://*.ggpht.com https://*.googleusercontent.com https://*.ytimg.com https://*.gstatic.com https://www.youtube.com";
const STRICT = [PICTURES, "style-src 'self'", "require-trusted-types-for 'script'"];
const OWN_FRAMES = "frame-ancestors 'self'";
const OWN: Record<string, string[]> = {
  "/": [...STRICT, OWN_FRAMES],
  "/probe": [...STRICT, OWN_FRAMES],
  "/overlay/setup": [...STRICT, "frame-src 'self'", OWN_FRAMES],
  "/overlay": [
    `${PICTURES} https:`,
    "style-src 'self' 'unsafe-inline' https:",
    "font-src 'self' https: data:",
    "media-src 'self' https: data:",
    "worker-src 'self'",
  ],
};
const FILES = [
  "/",
  "/overlay",
  "/overlay/setup",
  "/probe",
  "/client.js",
  "/client-log.js",
  "/client-poll.js",
  "/client-history.js",
  "/web/page/main.js",
  "/web/page/page.css",
  "/web/page/icon.svg",
];

describe("the pages' files", () => {
  let relay: TestRelay;

  before(async () => {
    relay = await startRelay();
  });
  after(() => relay[Symbol.asyncDispose]());

  for (const [path, own] of Object.entries(OWN)) {
    it(`${path} has its policy`, async () => {
      const { status, headers } = await fetch(`${relay.url}${path}?videoId=x`);
      assert.equal(status, 200);
      assert.deepEqual(headers.get("content-security-policy")?.split("; "), [...BOTH, ...own]);
      assert.equal(headers.get("referrer-policy"), "no-referrer");
      assert.match(headers.get("content-type") ?? "", /^text\/html/);
    });
  }

  for (const path of ["/probe", "/overlay", "/overlay/setup"])
    it(`${path} is also found with a slash at its end`, async () => {
      const { url, redirected } = await fetch(`${relay.url}${path}/?channel=@a%2Bb&hide=/x?/`);
      assert.deepEqual([url, redirected], [`${relay.url}${path}?channel=@a%2Bb&hide=/x?/`, true]);
    });

  it("are only read, and there is nothing at other paths beside them", async () => {
    for (const path of ["/web/page/none.js", "/web/page/index.html", "/web/", "/web/page/main.js/x"])
      assertRefused(await ask(relay.url, path), 404, "NOT_FOUND");
    const posted = await ask(relay.url, "/web/page/main.js", { method: "POST" });
    assertRefused(posted, 405, "METHOD_NOT_ALLOWED");
    assert.equal(posted.headers.get("allow"), "GET, HEAD, OPTIONS");
  });

  for (const [value, expected] of [
    [
      "https://example.org,https://*.example.net:8443",
      "'self' https://example.org https://*.example.net:8443",
    ],
    ["*", "*"],
    ["none", "'none'"],
  ] as const)
    it(`can be embedded as RELAY_FRAME_ANCESTORS=${value} says`, async () => {
      await using embedded = await startRelay({ settings: { RELAY_FRAME_ANCESTORS: value } });
      for (const path of Object.keys(OWN)) {
        const { headers } = await fetch(`${embedded.url}${path}`);
        const policy = headers.get("content-security-policy")?.split("; ") ?? [];
        const [framing, ...others] = policy.filter((part) => part.startsWith("frame-ancestors"));
        assert.deepEqual([framing, others], [`frame-ancestors ${expected}`, []], path);
      }
    });

  for (const path of FILES) {
    it(`${path} is requested again each time, and sent again only if it has changed`, async () => {
      const response = await fetch(relay.url + path);
      const { headers } = response;
      assert.equal(headers.get("cache-control"), "no-cache");
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.equal(headers.get("access-control-allow-origin"), "*");
      assert.equal(headers.get("content-encoding"), "gzip");
      const etag = headers.get("etag") ?? assert.fail("no etag");
      const again = await fetch(relay.url + path, { headers: { "if-none-match": `"other", ${etag}` } });
      assert.deepEqual([again.status, await again.text()], [304, ""]);
      const text = await response.text();
      for (const encoding of ["identity", "gzip;q=0, identity"]) {
        const plain = await fetch(relay.url + path, { headers: { "accept-encoding": encoding } });
        assert.equal(plain.headers.get("content-encoding"), null, encoding);
        assert.equal(await plain.text(), text, encoding);
      }
      assert.equal((await fetch(relay.url + path, { method: "HEAD" })).status, 200);
    });
  }

  it("/client.js is the SDK as one module", async () => {
    const source = await (await fetch(`${relay.url}/client.js`)).text();
    assert.doesNotMatch(source, /^import |^\s*\/[*/]/m); // nor comments
    const sdk = await import(`data:text/javascript,${encodeURIComponent(source)}`);
    assert.deepEqual(Object.keys(sdk).sort(), [
      "ChatError",
      "GROUPS",
      "chat",
      "history",
      "merged",
      "poll",
      "probe",
    ]);
  });

  it("the SDK and the pages load the other modules of the SDK when they need them", async () => {
    const modules = {
      "/client-log.js": "useLog",
      "/client-poll.js": "loop",
      "/client-history.js": "loop",
    };
    for (const [path, exported] of Object.entries(modules)) {
      const source = await (await fetch(relay.url + path)).text();
      assert.doesNotMatch(source, /^import |^\s*\/[*/]/m);
      const module = await import(`data:text/javascript,${encodeURIComponent(source)}`);
      assert.deepEqual(Object.keys(module), [exported]);
    }
    for (const path of ["/client.js", "/web/page/main.js", "/web/overlay/main.js"]) {
      const importer = await (await fetch(relay.url + path)).text();
      const found = [...importer.matchAll(/\bimport\("(.*?)"\)/g)].map(([, named = ""]) => named);
      const paths = found.map((named) => new URL(named, relay.url + path).pathname).sort();
      const own = paths.filter((each) => each.startsWith("/web/"));
      assert.deepEqual(
        paths.filter((each) => !own.includes(each)),
        Object.keys(modules).sort(),
        path,
      );
      for (const each of own) {
        const source = await (await fetch(relay.url + each)).text();
        assert.match(source, /^export const \{ [\w, ]+ \} = \w+;$/m);
        assert.doesNotMatch(source, /^import /m);
      }
    }
  });
});
