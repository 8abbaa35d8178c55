/** The set of keys at a URL: when it is loaded, which of its keys count, and what holds while it is away. */
import assert from "node:assert/strict";
import { createSecretKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { pino } from "pino";
import { type Clock, systemClock } from "../../../src/base/clock.ts";
import { type KeySource, keySource } from "../../../src/http/access/keys.ts";
import { createServer as createRelayServer } from "../../../src/http/server.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { type Answer, AnsweringServer, refuses } from "../../support/answering-server.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { roomsOn } from "../../support/rooms-on.ts";
import { SELF_SIGNED } from "../../support/self-signed.ts";
import { observe } from "../../support/store-subject.ts";
import { bearer, signed } from "../../support/tokens.ts";

const ED25519 = generateKeyPairSync("ed25519");
const OTHER = generateKeyPairSync("ed25519");
const P256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const jwk = ({ publicKey }: { publicKey: KeyObject }, more: object = {}) => ({
  ...publicKey.export({ format: "jwk" }),
  ...more,
});
const keys = (...all: object[]): Answer => refuses(200, { keys: all });
const AWAY = refuses(503, "away");

/** A source of keys that goes with the test. */
function sourceAt(
  t: TestContext,
  url: string,
  clock: Clock,
  telemetry = new Telemetry(silentLog),
): KeySource {
  const source = keySource({ kind: "set", url }, clock, telemetry);
  t.after(() => source.close());
  return source;
}

describe("a set of keys", () => {
  it("gives each key under its id, and only keys for signatures of a known kind", async (t) => {
    await using server = await AnsweringServer.start(
      keys(
        jwk(ED25519, { kid: "one" }),
        jwk(P256, { kid: "two", use: "sig", alg: "ES256" }),
        jwk(P256, { kid: "encrypts", use: "enc" }),
        jwk(P256, { kid: "other", alg: "ES384" }),
        { ...createSecretKey(Buffer.alloc(32)).export({ format: "jwk" }), kid: "secret" },
        jwk(generateKeyPairSync("ec", { namedCurve: "P-384" }), { kid: "longer" }),
        jwk(generateKeyPairSync("rsa", { modulusLength: 1024 }), { kid: "short" }),
        { kty: "OKP", crv: "Ed25519", kid: "damaged" },
      ),
    );
    const source = sourceAt(t, server.url, new FakeClock());
    const algorithms = async (kid: string) => (await source.find(kid)).map((key) => key.algorithms);
    assert.deepEqual(await algorithms("one"), [["EdDSA", "Ed25519"]]);
    assert.deepEqual(await algorithms("two"), [["ES256"]]);
    for (const kid of ["encrypts", "other", "secret", "longer", "short", "damaged", "__proto__", ""])
      assert.deepEqual(await source.find(kid), [], kid);
    assert.equal((await source.find(undefined)).length, 2);
  });

  it("offers a token with an id its keys and those without an id, and other tokens all keys", async (t) => {
    const all = [
      jwk(ED25519),
      jwk(P256, { kid: "one" }),
      jwk(ED25519, { kid: "one" }),
      jwk(P256, { kid: "two" }),
    ];
    await using server = await AnsweringServer.start(keys(...all));
    const source = sourceAt(t, server.url, new FakeClock());
    const first = async (kid?: string) => (await source.find(kid)).map(({ algorithms }) => algorithms[0]);
    assert.deepEqual(await first("one"), ["ES256", "EdDSA", "EdDSA"]);
    assert.deepEqual(await first("three"), ["EdDSA"]);
    assert.equal((await first()).length, 4);
  });

  it("keeps at most 200 keys, and logs that there were more", async (t) => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, n) => jwk(ED25519, { kid: `key ${n}` }));
    for (const [count, isSaid] of [
      [200, false],
      [201, true],
    ] as const) {
      await using server = await AnsweringServer.start(keys(...many(count)));
      const log: string[] = [];
      const telemetry = new Telemetry(pino({ level: "warn" }, { write: (line) => void log.push(line) }));
      const source = sourceAt(t, server.url, new FakeClock(), telemetry);
      assert.equal((await source.find("key 199")).length, 1);
      assert.equal((await source.find("key 200")).length, 0);
      assert.equal(
        log.some((line) => /more keys than are used/.test(line)),
        isSaid,
      );
    }
  });

  it("is looked for at most three redirects further, and only with TLS", async (t) => {
    const before = getCACertificates("default");
    t.after(() => setDefaultCACertificates(before));
    setDefaultCACertificates([...before, SELF_SIGNED.cert]);
    const server = createServer(SELF_SIGNED, (request, response) => {
      const left = Number(request.url?.slice(1));
      if (left > 0) response.writeHead(302, { location: `/${left - 1}` }).end();
      else response.end(JSON.stringify({ keys: [jwk(ED25519, { kid: "one" })] }));
    }).listen(0, "127.0.0.1");
    t.after(() => server[Symbol.asyncDispose]());
    await once(server, "listening");
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    assert.equal((await sourceAt(t, `${url}/3`, new FakeClock()).find("one")).length, 1);
    await assert.rejects(sourceAt(t, `${url}/4`, new FakeClock()).find("one"), { code: "CAPACITY" });
    await using plain = await AnsweringServer.start(keys(jwk(ED25519)));
    await using leading = await AnsweringServer.start((response) => {
      response.writeHead(302, { location: plain.url }).end();
    });
    await assert.rejects(sourceAt(t, leading.url, new FakeClock()).find("one"), { code: "CAPACITY" });
    assert.equal(plain.calls.length, 0);
  });

  it("is loaded again for an unknown id once a minute at most, and keeps its keys if it is away", async (t) => {
    const two = keys(jwk(ED25519, { kid: "one" }), jwk(P256, { kid: "two" }));
    await using server = await AnsweringServer.start(keys(jwk(ED25519, { kid: "one" })), AWAY, two);
    const clock = new FakeClock();
    const source = sourceAt(t, server.url, clock);
    assert.equal((await source.find("one")).length, 1);
    assert.deepEqual(await source.find("two"), []);
    assert.equal(server.calls.length, 2);
    assert.equal((await source.find("one")).length, 1, "a failed load changes nothing");
    for (let asked = 0; asked < 5; asked++) assert.deepEqual(await source.find(`made up ${asked}`), []);
    await clock.advance(59_000);
    assert.deepEqual(await source.find("two"), []);
    assert.equal(server.calls.length, 2);
    await clock.advance(1000);
    assert.equal((await source.find("two")).length, 1);
    assert.equal(server.calls.length, 3);
  });

  it("is loaded again every hour, so that a key that was taken out counts no more", async (t) => {
    await using server = await AnsweringServer.start(
      keys(jwk(ED25519, { kid: "one" })),
      keys(jwk(P256, { kid: "two" })),
    );
    const clock = new FakeClock();
    const source = sourceAt(t, server.url, clock);
    assert.equal((await source.find("one")).length, 1);
    await clock.advance(3_600_000);
    await eventually(1, async () => (await source.find("two")).length);
    assert.deepEqual(await source.find("one"), []);
  });

  it("that is away refuses nobody's token, and is tried again", async (t) => {
    await using server = await AnsweringServer.start(AWAY, refuses(200, { keys: [] }), keys(jwk(ED25519)));
    const log: string[] = [];
    const telemetry = new Telemetry(pino({}, { write: (line) => void log.push(line) }));
    const clock = new FakeClock();
    const source = sourceAt(t, server.url, clock, telemetry);
    await assert.rejects(source.find("one"), { code: "CAPACITY" });
    await clock.advance(1000);
    await eventually(2, () => log.length);
    await assert.rejects(source.find("one"), { code: "CAPACITY" });
    assert.match(log.join(), /cannot be loaded: requests that need a token are answered 503.*without a key/s);
    await clock.advance(2000);
    await eventually(3, () => log.length);
    assert.equal((await source.find(undefined)).length, 1);
  });
});

describe("a service with the keys of a set", () => {
  async function serverWith(url: string) {
    const parts = await roomsOn(observe(memoryStore(systemClock)));
    const { http } = parts.config;
    const access = { ...http.access, public: [], tokenKey: { kind: "set" as const, url } };
    const app = await createRelayServer(parts, { ...http, access });
    return {
      ask: async (headers: Record<string, string>) => {
        const { statusCode, headers: sent } = await app.inject({ url: "/v1/rooms", headers });
        return { status: statusCode, retryAfter: sent["retry-after"] };
      },
      wordsTo: async (headers: Record<string, string>) =>
        (await app.inject({ url: "/v1/rooms", headers })).json().message as string,
      [Symbol.asyncDispose]: async () => {
        await app.close();
        await parts[Symbol.asyncDispose]();
      },
    };
  }

  const relay = ["rooms"];
  const ofOne = { key: ED25519.privateKey, header: { alg: "EdDSA", kid: "one" } };

  it("accepts each key under its own id alone", async () => {
    await using set = await AnsweringServer.start(
      keys(jwk(OTHER, { kid: "one" }), jwk(ED25519, { kid: "one" }), jwk(P256, { kid: "two" })),
    );
    await using service = await serverWith(set.url);
    const status = async (signing: Parameters<typeof signed>[1]) =>
      (await service.ask(bearer(await signed({ relay }, signing)))).status;
    assert.equal(await status(ofOne), 200);
    assert.equal(await status({ ...ofOne, key: OTHER.privateKey }), 200);
    const strange = generateKeyPairSync("ed25519").privateKey;
    assert.equal(await status({ ...ofOne, key: strange }), 401);
    assert.equal(await status({ ...ofOne, header: { alg: "EdDSA", kid: "two" } }), 401);
    assert.equal(await status({ ...ofOne, header: { alg: "EdDSA" } }), 200);
    assert.equal(await status({ key: P256.privateKey, header: { alg: "ES256", kid: "two" } }), 200);
    assert.equal(await status({ key: P256.privateKey, header: { alg: "ES256", kid: "one" } }), 401);
  });

  it("says that a token has expired which the first of several keys has signed", async () => {
    await using set = await AnsweringServer.start(
      keys(jwk(OTHER, { kid: "one" }), jwk(ED25519, { kid: "one" })),
    );
    await using service = await serverWith(set.url);
    const token = await signed({ relay, exp: 1 }, { ...ofOne, key: OTHER.privateKey });
    assert.equal(await service.wordsTo(bearer(token)), "The token has expired.");
  });

  it("starts while they are away, and answers 503 to tokens and 401 to everybody else", async () => {
    await using set = await AnsweringServer.start(AWAY);
    await using service = await serverWith(set.url);
    const token = await signed({ relay }, ofOne);
    assert.deepEqual(await service.ask(bearer(token)), { status: 503, retryAfter: "5" });
    assert.equal((await service.ask({})).status, 401);
  });
});
