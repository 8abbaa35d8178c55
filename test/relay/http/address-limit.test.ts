/**
 * RELAY_MAX_VIEWERS_PER_ADDRESS and RELAY_TRUST_PROXY: how many viewers one address may have, and whose
 * address it is.
 */
import assert from "node:assert/strict";
import { get, type IncomingMessage } from "node:http";
import { describe, it } from "node:test";
import type { FastifyRequest } from "fastify";
import { pino } from "pino";
import { AddressLimit } from "../../../src/http/access/address-limit.ts";
import { Expiries } from "../../../src/http/access/expiries.ts";
import { setOutcome } from "../../../src/http/access/grant.ts";
import { ViewerPlaces } from "../../../src/http/access/viewer-places.ts";
import { RelayError } from "../../../src/protocol/errors.ts";
import { Rights } from "../../../src/protocol/rights.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { ask, assertRefused } from "../../support/api.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { startRelay, type TestRelayOptions } from "../../support/relay.ts";
import { streamUrl } from "../../support/stream.ts";

const VIDEO = "one-address";

/** A relay that lets each address have two viewers. */
async function withLimit(settings: TestRelayOptions["settings"] = {}, telemetry?: Telemetry) {
  const limits = { RELAY_MAX_VIEWERS_PER_ADDRESS: "2", ...settings };
  const relay = await startRelay({ settings: limits, ...(telemetry && { telemetry }) });
  relay.upstream.chat(VIDEO).say(1);
  /** Opens a stream from a loopback address, with what a proxy would say. */
  const open = (from: string, forwardedFor?: string) => {
    const headers = forwardedFor === undefined ? {} : { "x-forwarded-for": forwardedFor };
    return new Promise<IncomingMessage>((resolve, reject) => {
      const options = { localAddress: from, headers, agent: false };
      get(streamUrl(relay.url, { videoId: VIDEO }), options, resolve).on("error", reject);
    });
  };
  const opens = async (from: string, forwardedFor?: string) => {
    const response = await open(from, forwardedFor);
    return response.statusCode === 200 || response.statusCode;
  };
  return { relay, open, opens, [Symbol.asyncDispose]: () => relay[Symbol.asyncDispose]() };
}

describe("the limit of viewers per address", () => {
  it("refuses one viewer more with 503 CAPACITY and Retry-After, but not those of other addresses", async () => {
    await using limited = await withLimit();
    const refusesThree = async (others: number) => {
      const path = `/v1/merged?videoIds=${VIDEO},jNQXAC9IVRw,dQw4w9WgXcQ`;
      const merged = await fetch(limited.relay.url + path);
      assert.equal(merged.status, 503); // the text of a stream would not end
      const { code, message } = (await merged.json()) as { code: string; message: string };
      assert.equal(code, "CAPACITY");
      const words = `may have 2 viewers: yours has ${others}, and this stream counts as 3.`;
      assert.ok(message.includes(words), message);
    };
    await refusesThree(0);
    for (const from of ["127.0.0.1", "127.0.0.1", "127.0.0.9", "127.0.0.9"]) {
      assert.equal(await limited.opens(from), true);
    }
    assert.equal(await limited.opens("127.0.0.9"), 503);
    const answer = await ask<{ message: string }>(limited.relay.url, `/v1/stream?videoId=${VIDEO}`);
    assertRefused(answer, 503, "CAPACITY");
    assert.equal(answer.headers.get("retry-after"), "30");
    assert.match(answer.body.message, /may have 2 viewers: yours has 2, and this stream counts as 1\./);
    await refusesThree(2);
  });

  it("frees a place when its viewer leaves, or was refused for another reason", async () => {
    await using limited = await withLimit();
    for (let i = 0; i < 5; i++) {
      const refused = await ask(limited.relay.url, "/v1/stream?videoId=not-a-chat_");
      assertRefused(refused, 404, "NO_LIVE_CHAT");
    }
    const first = await limited.open("127.0.0.1");
    assert.equal(await limited.opens("127.0.0.1"), true);
    assert.equal(await limited.opens("127.0.0.1"), 503);
    first.destroy();
    await eventually(true, () => limited.opens("127.0.0.1"));
  });

  it("is off by default, and does not apply to requests other than streams", async () => {
    await using limited = await withLimit({ RELAY_MAX_VIEWERS_PER_ADDRESS: "0" });
    for (let i = 0; i < 10; i++) assert.equal(await limited.opens("127.0.0.1"), true);
    await using narrow = await withLimit({ RELAY_MAX_VIEWERS_PER_ADDRESS: "1" });
    assert.equal(await narrow.opens("127.0.0.1"), true);
    assert.equal((await ask(narrow.relay.url, "/healthz")).status, 200);
  });
});

describe("X-Forwarded-For", () => {
  it("is ignored by default: the connection's address counts", async () => {
    await using limited = await withLimit();
    assert.equal(await limited.opens("127.0.0.1", "203.0.113.1"), true);
    assert.equal(await limited.opens("127.0.0.1", "203.0.113.2"), true);
    assert.equal(await limited.opens("127.0.0.1", "203.0.113.3"), 503);
  });

  it("is named in one warning if the proxy is not trusted and the limit counts its address", async () => {
    for (const [settings, count] of [
      [{}, 1],
      [{ RELAY_TRUST_PROXY: "1" }, 0],
      [{ RELAY_MAX_VIEWERS_PER_ADDRESS: "0" }, 0],
    ] as const) {
      const log: string[] = [];
      const telemetry = new Telemetry(pino({ level: "warn" }, { write: (line) => void log.push(line) }));
      await using limited = await withLimit(settings, telemetry);
      assert.equal(await limited.opens("127.0.0.1"), true);
      assert.deepEqual(log, []);
      for (const each of ["203.0.113.1", "203.0.113.2"])
        await fetch(limited.relay.url, { headers: { "x-forwarded-for": each } });
      assert.equal(log.length, count, `${JSON.stringify(settings)}: ${log}`);
      for (const line of log) {
        assert.match(JSON.parse(line).msg, /RELAY_TRUST_PROXY is 0: .* RELAY_MAX_VIEWERS_PER_ADDRESS/);
        assert.doesNotMatch(line, /203\.0\.113/);
      }
    }
  });

  it("is trusted for one proxy if one is configured, and no further back", async () => {
    await using limited = await withLimit({ RELAY_TRUST_PROXY: "1" });
    // The caller itself sent all addresses but the last.
    assert.equal(await limited.opens("127.0.0.1", "203.0.113.1"), true);
    assert.equal(await limited.opens("127.0.0.1", "198.51.100.1, 203.0.113.1"), true);
    assert.equal(await limited.opens("127.0.0.1", "198.51.100.2, 203.0.113.1"), 503);
    assert.equal(await limited.opens("127.0.0.1", "203.0.113.2"), true);
    assert.equal(await limited.opens("127.0.0.1"), true);
  });

  it("is trusted for two proxies if two are configured", async () => {
    await using limited = await withLimit({ RELAY_TRUST_PROXY: "2" });
    assert.equal(await limited.opens("127.0.0.1", "203.0.113.1, 192.0.2.1"), true);
    assert.equal(await limited.opens("127.0.0.1", "203.0.113.1, 192.0.2.2"), true);
    assert.equal(await limited.opens("127.0.0.1", "203.0.113.1, 192.0.2.3"), 503);
    assert.equal(await limited.opens("127.0.0.1", "203.0.113.2, 192.0.2.1"), true);
  });

  it("does no harm if it contains no addresses", async () => {
    await using limited = await withLimit({ RELAY_TRUST_PROXY: "1", RELAY_MAX_VIEWERS_PER_ADDRESS: "50" });
    for (const odd of [
      "",
      ",",
      "unknown",
      "<script>",
      "::1%eth0",
      "1.2.3.4:5",
      "[::1]:80",
      "a".repeat(5000),
    ]) {
      assert.equal(await limited.opens("127.0.0.1", odd), true, odd);
    }
  });
});

describe("what counts as one address", () => {
  const same: [string, string][] = [
    ["192.0.2.7", "192.0.2.7"],
    ["192.0.2.7", "::ffff:192.0.2.7"],
    ["192.0.2.7", "::FFFF:192.0.2.7"],
    ["2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"],
    ["2001:db8:1:2::1", "2001:0DB8:0001:0002:0:0:0:9"],
    ["2001:db8::1", "2001:db8:0:0:5::"],
    ["::1", "::2"],
    ["fe80::1%eth0", "fe80::2%eth1"],
    ["192.0.2.7", "192.0.2.7:50123"],
    ["192.0.2.7:1", "[::ffff:192.0.2.7]:2"],
    ["2001:db8:1:2::1", "[2001:db8:1:2::9]"],
    ["2001:db8:1:2::1", "[2001:db8:1:2::9]:443"],
    ["2001:db8:1:2::1", "2001:db8:1:2"],
    ["not an address", "another"],
    ["unknown", "192.0.2.7.8:1"],
    ["unknown", "[nonsense]:1"],
  ];
  const different: [string, string][] = [
    ["192.0.2.7", "192.0.2.8"],
    ["192.0.2.7", "::192.0.2.7"],
    ["2001:db8:1:2::1", "2001:db8:1:3::1"],
    ["2001:db8::1", "2001:db8:0:1::1"],
    ["1::", "::1"],
    ["192.0.2.7:1", "192.0.2.8:1"],
    ["[2001:db8:1:2::1]:443", "[2001:db8:1:3::1]:443"],
    ["2001:db8:1:2", "2001:db8:1:3"],
    ["192.0.2.7", "unknown"],
  ];
  const bothFit = (one: string, other: string): boolean => {
    const limit = new AddressLimit(1);
    limit.take({ ip: one });
    try {
      limit.take({ ip: other });
      return true;
    } catch (error) {
      assert.ok(error instanceof RelayError && error.code === "CAPACITY");
      return false;
    }
  };
  for (const [one, other] of same) {
    it(`${one} and ${other} are one`, () => assert.equal(bothFit(one, other), false));
  }
  for (const [one, other] of different) {
    it(`${one} and ${other} are two`, () => assert.equal(bothFit(one, other), true));
  }
});

const telemetry = new Telemetry(silentLog);

it("the place of a client that has gone is free at once, although its request waits for the store", async () => {
  const clock = new FakeClock();
  const expiries = new Expiries({ clock, telemetry }, new AbortController().signal);
  const places = new ViewerPlaces(new AddressLimit(1), expiries);
  const request = { ip: "192.0.2.1", raw: {} } as FastifyRequest;
  const gone = new AbortController();
  await places.take(request, gone.signal);
  const { signal } = new AbortController();
  await assert.rejects(places.take(request, signal), { code: "CAPACITY" });
  gone.abort();
  await places.take(request, signal);
});

it("a connection that is refused for its token's subject leaves the place of its address free", async () => {
  const expiries = new Expiries({ clock: new FakeClock(), telemetry }, new AbortController().signal);
  const places = new ViewerPlaces(new AddressLimit(2), expiries);
  const { signal } = new AbortController();
  const request = () => ({ ip: "192.0.2.1", raw: {} }) as FastifyRequest;
  const holder = request();
  const terms = { expiresAt: Number.POSITIVE_INFINITY, subject: "one", viewers: 1 };
  setOutcome(holder, { rights: new Rights(["watch"]), terms });
  await places.take(holder, signal);
  for (let i = 0; i < 3; i++) await assert.rejects(places.take(holder, signal), { code: "CAPACITY" });
  await places.take(request(), signal);
});

it("a client that leaves while its subject's place is asked for keeps none", async () => {
  const expiries = new Expiries({ clock: new FakeClock(), telemetry }, new AbortController().signal);
  const { promise, resolve } = Promise.withResolvers<() => void>();
  const addresses = new AddressLimit(1);
  const places = new ViewerPlaces(addresses, expiries, { take: () => promise });
  const request = { ip: "192.0.2.1", raw: {} } as FastifyRequest;
  const terms = { expiresAt: Number.POSITIVE_INFINITY, subject: "one", viewers: 1 };
  setOutcome(request, { rights: new Rights(["watch"]), terms });
  const gone = new AbortController();
  const taken = places.take(request, gone.signal);
  gone.abort();
  let isBack = false;
  resolve(() => {
    isBack = true;
  });
  await assert.rejects(taken, { name: "AbortError" });
  assert.ok(isBack);
  addresses.take(request);
});

it("a place that is given back twice is free once", () => {
  const limit = new AddressLimit(1);
  const take = () => limit.take({ ip: "192.0.2.1" });
  const giveBack = take();
  giveBack();
  take();
  giveBack();
  assert.throws(take, { code: "CAPACITY" });
});
