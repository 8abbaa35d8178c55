/** Every route of the service against every right: public, by a token, and held by nobody. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { systemClock } from "../../../src/base/clock.ts";
import { ROUTE_RIGHTS, rightOfRoute, rightsOfRoute } from "../../../src/http/access/route-rights.ts";
import { createServer } from "../../../src/http/server.ts";
import type { ErrorBody } from "../../../src/protocol/errors.ts";
import { RIGHTS, type Right } from "../../../src/protocol/rights.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import { ask } from "../../support/api.ts";
import { eventually } from "../../support/eventually.ts";
import { startRelay, type TestRelay, type TestRelayOptions } from "../../support/relay.ts";
import { roomsOn } from "../../support/rooms-on.ts";
import { observe } from "../../support/store-subject.ts";
import { Stream } from "../../support/stream.ts";
import { bearer, SECRET, signed } from "../../support/tokens.ts";

const VIDEO = "rights-1234";
const ADMIN = "an-admin-token-of-a-test";
const json = (body: object): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});
const POLL = { token: "t", client: "WEB", endpoint: "get_live_chat", apiKey: "k", webVersion: "2" };

const HEAD = { method: "HEAD" };

/** A request of each route that is allowed, whatever it is answered. A route without one fails the test. */
const REQUESTS: Record<string, [path: string, init?: RequestInit]> = {
  "GET /v1/stream": [`/v1/stream?videoId=${VIDEO}`],
  "HEAD /v1/stream": [`/v1/stream?videoId=${VIDEO}&until=now`, HEAD],
  "GET /v1/merged": [`/v1/merged?videoIds=${VIDEO}`],
  "HEAD /v1/merged": [`/v1/merged?videoIds=${VIDEO}&until=now`, HEAD],
  "GET /v1/messages": [`/v1/messages?videoId=${VIDEO}`],
  "GET /v1/log/:videoId": [`/v1/log/${VIDEO}`],
  "HEAD /v1/log/:videoId": [`/v1/log/${VIDEO}`, HEAD],
  "HEAD /v1/messages": [`/v1/messages?videoId=${VIDEO}`, HEAD],
  "GET /v1/rooms/:videoId": [`/v1/rooms/${VIDEO}`],
  "HEAD /v1/rooms/:videoId": [`/v1/rooms/${VIDEO}`, HEAD],
  "GET /v1/videos/:videoId": [`/v1/videos/${VIDEO}`],
  "HEAD /v1/videos/:videoId": [`/v1/videos/${VIDEO}`, HEAD],
  "GET /v1/rooms": ["/v1/rooms"],
  "HEAD /v1/rooms": ["/v1/rooms", HEAD],
  "POST /v1/probe": ["/v1/probe", json({ videoId: VIDEO })],
  "POST /v1/sessions": ["/v1/sessions", json({ videoId: VIDEO })],
  "POST /v1/poll": ["/v1/poll", json(POLL)],
  "GET /v1/recordings": ["/v1/recordings"],
  "HEAD /v1/recordings": ["/v1/recordings", HEAD],
  "PUT /v1/recordings/:name": ["/v1/recordings/recorded-ab", { method: "PUT" }],
  "DELETE /v1/recordings/:name": ["/v1/recordings/recorded-ab", { method: "DELETE" }],
  "GET /v1/featured/:videoId": [`/v1/featured/${VIDEO}`],
  "HEAD /v1/featured/:videoId": [`/v1/featured/${VIDEO}`, HEAD],
  "PUT /v1/featured/:videoId": [`/v1/featured/${VIDEO}`, { ...json({ messageId: "m" }), method: "PUT" }],
  "DELETE /v1/featured/:videoId": [`/v1/featured/${VIDEO}`, { method: "DELETE" }],
};

/** The methods and patterns of all routes that a server has, as Fastify knows them. */
async function routesServed(): Promise<[method: string, url: string][]> {
  await using parts = await roomsOn(observe(memoryStore(systemClock)));
  const { http } = parts.config;
  const access = { ...http.access, public: [...RIGHTS] };
  const app = await createServer(parts, { ...http, access });
  await app.ready();
  const routes: [string, string][] = [];
  const above: string[] = [];
  for (const [, indent = "", part = "", methods = ""] of app
    .printRoutes()
    .matchAll(/^([ │]*)[├└]── (\S*?)(?: \((.*)\))?$/gm)) {
    const depth = indent.length / 4;
    above.length = depth;
    above.push(part);
    const url = above
      .join("")
      .replace(/^(?!\/)/, "/")
      .replaceAll(/\/{2,}/g, "/");
    for (const method of methods.split(", ").filter((each) => each !== "")) routes.push([method, url]);
  }
  await app.close();
  return routes;
}

async function call({ url }: TestRelay, route: string, headers: Record<string, string> = {}) {
  const [path, init = {}] = REQUESTS[route] ?? assert.fail(`${route} has no request in this test`);
  const cut = new AbortController();
  const all = { ...(init.headers as Record<string, string>), ...headers };
  const response = await fetch(url + path, { ...init, headers: all, signal: cut.signal });
  const isJson =
    response.headers.get("content-type")?.startsWith("application/json") && init.method !== "HEAD";
  const body = isJson ? ((await response.json()) as Partial<ErrorBody>) : {};
  cut.abort();
  const challenge = response.headers.get("www-authenticate");
  return { status: response.status, code: body.code, message: body.message ?? "", challenge };
}

function assertAllowed({ status, message }: { status: number; message: string }, what: string): void {
  assert.ok(![401, 403, 405].includes(status), `${what} is answered ${status}`);
  assert.doesNotMatch(message, /This service has no|nothing at this path/, what);
}

async function relayWith(settings: TestRelayOptions["settings"]): Promise<TestRelay> {
  const relay = await startRelay({ settings: { ...settings, RELAY_LONG_POLL_MS: "1000" } });
  relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(2);
  return relay;
}

const routes = await routesServed();
const guarded = routes.filter(([, url]) => rightOfRoute(url) !== "open");
/** The rights of which one opens the route, whose name is its method and its pattern. */
const rightsOf = (route: string): Right[] => {
  const [method = "", url = ""] = route.split(" ");
  return rightsOfRoute(url, method) ?? [];
};
const routesOf = (right: Right) =>
  guarded.map((route) => route.join(" ")).filter((route) => rightsOf(route).includes(right));

describe("the routes", () => {
  it("are those of the table, and each one that needs a right has a request here", () => {
    const rows = (all: string[]) => [...new Set(all)].sort();
    const served = routes.map(([, url]) => url.replace(/(.)\/$/, "$1"));
    assert.deepEqual(rows(served), rows(Object.keys(ROUTE_RIGHTS)));
    assert.deepEqual(rows(guarded.map((route) => route.join(" "))), rows(Object.keys(REQUESTS)));
  });

  it("cannot be added without a right", async () => {
    assert.throws(() => rightOfRoute("/v1/new"), /\/v1\/new has no right/);
    await using parts = await roomsOn(observe(memoryStore(systemClock)));
    const app = await createServer(parts, parts.config.http);
    assert.throws(() => app.get("/v1/new", () => ""), /has no right/);
    await app.close();
  });
});

for (const right of RIGHTS) {
  describe(`routes with the right ${right}`, () => {
    const others = RIGHTS.filter((each) => each !== right);

    it("are for everybody where the right is public", async () => {
      await using relay = await relayWith({ RELAY_PUBLIC: right });
      for (const route of routesOf(right)) assertAllowed(await call(relay, route), route);
    });

    it("do not exist where the right is not public and there are no tokens", async () => {
      await using relay = await relayWith({ RELAY_PUBLIC: others.join() });
      for (const route of routesOf(right)) {
        if (rightsOf(route).some((each) => others.includes(each))) continue;
        for (const headers of [{}, bearer(ADMIN), bearer(await signed({ relay: [right] }))]) {
          const { status, code, challenge } = await call(relay, route, headers);
          assert.equal(status, 404, route);
          if (!route.startsWith("HEAD")) assert.equal(code, "NOT_FOUND", route);
          assert.equal(challenge, null, route);
        }
      }
    });
  });
}

/** Requests for a video or channel that no test may read. */
const OF_ANOTHER = [
  "/v1/stream?videoId=another-one",
  "/v1/stream?channel=@another",
  `/v1/merged?videoIds=${VIDEO},another-one`,
  "/v1/messages?videoId=another-one",
  "/v1/log/another-one",
  "/v1/rooms/another-one",
  "/v1/videos/another-one",
];

it("a request that names nothing to watch is refused in the words of its route", async () => {
  await using relay = await relayWith({ RELAY_PUBLIC: `watch:${VIDEO}` });
  for (const [path, words] of [
    ["/v1/stream", /^videoId or channel: exactly one/],
    ["/v1/merged", /^videoIds or channels: at least one/],
  ] as const) {
    const { status, body } = await ask<ErrorBody>(relay.url, path);
    assert.equal(status, 400, path);
    assert.match(body.message, words);
  }
});

it("a public video opens no other one, also where there are no tokens", async () => {
  await using relay = await relayWith({ RELAY_PUBLIC: `watch:${VIDEO}` });
  for (const route of routesOf("watch")) assertAllowed(await call(relay, route), route);
  for (const path of OF_ANOTHER) {
    const { status, headers, body } = await ask(relay.url, path);
    assert.deepEqual([status, headers.get("www-authenticate")], [401, "Bearer"], path);
    const message = "This service shows only certain videos or channels.";
    assert.deepEqual(body, { code: "UNAUTHORIZED", message });
  }
});

describe("where one video is public", () => {
  let relay: TestRelay;
  before(async () => {
    relay = await relayWith({ RELAY_PUBLIC: `watch:${VIDEO}`, RELAY_TOKEN_KEY: SECRET });
  });
  after(() => relay[Symbol.asyncDispose]());
  const expired = () => signed({ relay: ["watch"], exp: 1 });

  it("a token that is not valid closes nothing that is public, and says why it opens nothing else", async () => {
    for (const token of [await expired(), "nonsense"]) {
      for (const route of routesOf("watch"))
        assert.equal((await call(relay, route, bearer(token))).status, (await call(relay, route)).status);
      for (const path of OF_ANOTHER) {
        const { status, headers, body } = await ask<ErrorBody>(relay.url, path, { headers: bearer(token) });
        assert.deepEqual([status, headers.get("www-authenticate")], [401, "Bearer"], path);
        assert.match(body.message, token === "nonsense" ? /not a JSON Web Token/ : /has expired/);
      }
      const inQuery = await ask(relay.url, `/v1/messages?videoId=${VIDEO}&access_token=${token}`);
      assert.match(`${inQuery.headers.get("cache-control")}`, /private|no-store/);
      for (const route of Object.keys(REQUESTS).filter((each) => !rightsOf(each).includes("watch")))
        assert.equal((await call(relay, route, bearer(token))).status, 401, route);
    }
  });

  it("the room of the video does not say how it is read, but to those who may see all rooms", async () => {
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO });
    await viewer.untilMessages(1);
    const egressFor = async (...rights: string[]) => {
      const headers = rights.length > 0 ? bearer(await signed({ relay: rights })) : {};
      const { body } = await ask<{ egress: string | null }>(relay.url, `/v1/rooms/${VIDEO}`, { headers });
      return body.egress;
    };
    assert.equal(await egressFor(), null);
    assert.equal(await egressFor("watch"), null);
    assert.equal(await egressFor("watch", "rooms"), "direct");
  });

  it("a refusal of a token for something else says which right it needs", async () => {
    for (const rights of [["rooms"], [], ["watch:@another-one"]]) {
      const headers = bearer(await signed({ relay: rights }));
      const { status, body } = await ask<ErrorBody>(relay.url, "/v1/rooms/another-one", { headers });
      assert.equal(status, 403);
      assert.match(body.message, /It needs watch, or watch:NAME for this video or channel\.$/);
    }
  });
});

describe("where nothing is public", () => {
  let relay: TestRelay;
  before(async () => {
    relay = await relayWith({
      RELAY_PUBLIC: "none",
      RELAY_ADMIN_TOKEN: ADMIN,
      RELAY_TOKEN_KEY: SECRET,
    });
  });
  after(() => relay[Symbol.asyncDispose]());

  for (const route of Object.keys(REQUESTS)) {
    const rights = rightsOf(route);
    it(`${route} needs a token with the right ${rights.join(" or ")}, or the admin's`, async () => {
      const without = await call(relay, route);
      assert.deepEqual([without.status, without.challenge], [401, "Bearer"]);
      const others = RIGHTS.filter((each) => !rights.includes(each));
      const ofAnother = ["watch", "feature"].flatMap((each) => [`${each}:another-one`, `${each}:@another`]);
      for (const relay_ of [others, [], ofAnother]) {
        const refused = await call(relay, route, bearer(await signed({ relay: relay_ })));
        assert.deepEqual([refused.status, refused.challenge], [403, null], `${relay_}`);
        if (!route.startsWith("HEAD")) assert.equal(refused.code, "FORBIDDEN");
      }
      for (const right of rights)
        assertAllowed(await call(relay, route, bearer(await signed({ relay: [right] }))), "a token");
      assertAllowed(await call(relay, route, bearer(ADMIN)), "the admin's token");
    });
  }

  it("a token for one video is for the routes of this video", async () => {
    const token = await signed({ relay: [`watch:${VIDEO}`] });
    for (const route of Object.keys(REQUESTS)) {
      const answer = await call(relay, route, bearer(token));
      if (rightsOf(route).includes("watch")) assertAllowed(answer, route);
      else assert.equal(answer.status, 403, route);
    }
    for (const path of OF_ANOTHER) {
      const { status } = await fetch(relay.url + path, { headers: bearer(token) });
      assert.equal(status, 403, path);
    }
  });

  it("pages, their files and the description are for everybody all the same", async () => {
    const open = routes.filter(([method, url]) => method === "GET" && rightOfRoute(url) === "open");
    assert.ok(open.length > 10);
    for (const [, url] of open) {
      const path = url.replace("*", "page/main.js");
      // A busy machine is late, and unready, for some seconds.
      await eventually(`${path} 200`, async () => `${path} ${(await fetch(relay.url + path)).status}`);
    }
  });
});
