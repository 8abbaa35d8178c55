/** What a valid token opens: for how long, for how many connections, and what caches may keep of it. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { Expiries } from "../../../src/http/access/expiries.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { ask } from "../../support/api.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { LeapingClock } from "../../support/leaping-clock.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { bearer, SECRET, signed } from "../../support/tokens.ts";

const VIDEO = "tokens-1234";
/** For how long the token of a stream is valid, in seconds. */
const VALID_S = 30;
const relayClock = new LeapingClock();

let relay: TestRelay;
before(async () => {
  relay = await startRelay({
    settings: { RELAY_PUBLIC: "none", RELAY_TOKEN_KEY: SECRET },
    clock: relayClock,
  });
  relay.upstream
    .channel("@tokens")
    .broadcast(VIDEO, { chat: { kinds: ["text"] } })
    .chat.say(3);
});
after(() => relay[Symbol.asyncDispose]());

/** A token that expires soon. */
async function shortToken(): Promise<{ token: string; exp: number }> {
  const exp = Math.floor(relayClock.now() / 1000) + VALID_S;
  return { token: await signed({ relay: ["watch"], exp }), exp };
}

/**
 * The text of a connection until the service ends it, which happens when its token expires, and not before.
 * Time passes once this many messages have come.
 */
async function untilExpiry(bytes: AsyncIterable<Uint8Array>, exp: number, messages: number): Promise<string> {
  const shown = Promise.withResolvers<void>();
  const decoder = new TextDecoder();
  let text = "";
  const read = async () => {
    for await (const part of bytes) {
      text += decoder.decode(part, { stream: true });
      if (text.split('"type":"chat"').length > messages) shown.resolve();
    }
  };
  const ended = read();
  await Promise.race([shown.promise, ended]);
  relayClock.leap(1000 * (exp - 2) - relayClock.now());
  await relayClock.leapUntil(ended);
  await ended;
  assert.ok(relayClock.now() >= 1000 * exp, "not before the token");
  return text;
}

/** The text of a stream whose token expires once this many messages have come. */
async function wholeStream(path: string, headers = {}, messages = 1): Promise<string> {
  const { token, exp } = await shortToken();
  const { status, body } = await fetch(relay.url + path, { headers: { ...bearer(token), ...headers } });
  assert.equal(status, 200, path);
  return untilExpiry(body ?? assert.fail("no body"), exp, messages);
}

describe("a connection that a token has opened", () => {
  const kinds = {
    "of a video": `/v1/stream?videoId=${VIDEO}`,
    "of a channel": "/v1/stream?channel=@tokens",
    "of several chats": `/v1/merged?videoIds=${VIDEO},tokens-5678`,
    "of a log": `/v1/log/${VIDEO}?live=sse&offset=-1`,
  };
  for (const [what, path] of Object.entries(kinds)) {
    for (const encoding of ["identity", "gzip"]) {
      it(`${what} ends with its token, whole and without an end event (${encoding})`, async () => {
        const text = await wholeStream(path, { "accept-encoding": encoding });
        assert.match(text, /\n\n$/);
        assert.doesNotMatch(text, /event: end|"event":"end"/);
      });
    }
  }

  it("loses nothing: it resumes by its cursor with the next token", async () => {
    const chat = relay.upstream.chat("tokens-lost", { kinds: ["text"] });
    chat.say(3);
    const path = "/v1/stream?videoId=tokens-lost";
    const first = await wholeStream(path, {}, 3);
    const cursors = [...first.matchAll(/^id: (\d+)$/gm)].map(([, cursor]) => Number(cursor));
    chat.say(2);
    const second = await wholeStream(path, { "last-event-id": `${cursors.at(-1)}` }, 2);
    cursors.push(...[...second.matchAll(/^id: (\d+)$/gm)].map(([, cursor]) => Number(cursor)));
    const [start = 0] = cursors;
    assert.deepEqual(
      cursors,
      cursors.map((_, place) => start + place),
    );
    // The time that was skipped may have left a gap, which has a cursor, too.
    assert.equal((first + second).match(/"type":"chat"/g)?.length, 5);
  });

  it("in HTTP/1.0 ends as well", async () => {
    const { token, exp } = await shortToken();
    const socket = connect(Number(new URL(relay.url).port), "127.0.0.1");
    socket.write(`GET /v1/stream?videoId=${VIDEO} HTTP/1.0\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    assert.match(await untilExpiry(socket, exp, 1), /event: message/);
  });
});

describe("the seconds in which tokens expire", () => {
  const connection = () => {
    const ended: string[] = [];
    return { ended, of: (name: string) => ({ end: () => ended.push(name) }) };
  };

  const telemetry = new Telemetry(silentLog);

  it("end their connections, each once, and none that has closed", async () => {
    const clock = new FakeClock();
    const expiries = new Expiries({ clock, telemetry }, new AbortController().signal);
    const { ended, of } = connection();
    const at = clock.now();
    expiries.add(of("first"), at + 1000);
    const forget = expiries.add(of("closed"), at + 2000);
    expiries.add(of("second"), at + 2000);
    expiries.add(of("last"), at + 3_600_000);
    await clock.advance(999);
    assert.deepEqual(ended, []);
    await clock.advance(1);
    assert.deepEqual(ended, ["first"]);
    forget();
    await clock.advance(10_000);
    assert.deepEqual(ended, ["first", "second"]);
    await clock.advance(3_600_000);
    assert.deepEqual(ended, ["first", "second", "last"]);
    expiries.add(of("later"), clock.now() + 1500);
    await clock.advance(2000);
    assert.deepEqual(ended.at(-1), "later");
  });

  it("end a connection that opens after its token has expired, within a second", async () => {
    const clock = new FakeClock();
    const expiries = new Expiries({ clock, telemetry }, new AbortController().signal);
    const { ended, of } = connection();
    for (const name of ["first", "beside others"]) {
      expiries.add(of(name), clock.now() - 5000);
      await clock.advance(1000);
      assert.equal(ended.at(-1), name);
      expiries.add(of("other"), clock.now() + 3_600_000);
    }
  });

  it("end the others if a fault of the service keeps one open", async () => {
    const clock = new FakeClock();
    const expiries = new Expiries({ clock, telemetry }, new AbortController().signal);
    const { ended, of } = connection();
    const broken = {
      end: () => {
        throw new TypeError("a bug");
      },
    };
    for (const each of [broken, of("beside it")]) expiries.add(each, clock.now() + 1000);
    expiries.add(of("later"), clock.now() + 5000);
    await clock.advance(3000);
    assert.deepEqual(ended, ["beside it"]);
    await clock.advance(3000);
    assert.deepEqual(ended, ["beside it", "later"]);
  });

  it("are passed at once if the clock is set ahead, and come again if it is set back", async () => {
    const clock = new FakeClock();
    const expiries = new Expiries({ clock, telemetry }, new AbortController().signal);
    const { ended, of } = connection();
    expiries.add(of("near"), clock.now() + 60_000);
    expiries.add(of("far"), clock.now() + 400 * 86_400_000);
    clock.jump(365 * 86_400_000);
    await clock.advance(2000);
    assert.deepEqual(ended, ["near"]);
    clock.jump(-365 * 86_400_000);
    expiries.add(of("again"), clock.now() + 60_000);
    await clock.advance(59_000);
    assert.deepEqual(ended, ["near"]);
    await clock.advance(2000);
    assert.deepEqual(ended, ["near", "again"]);
  });
});

describe("a subject with a number of viewers", () => {
  it("cannot open more connections than that at the same time", async () => {
    const claims = { relay: ["watch"], sub: "one", viewers: 2 };
    const open = async (token: string) => {
      const cut = new AbortController();
      const response = await fetch(`${relay.url}/v1/stream?videoId=${VIDEO}`, {
        headers: bearer(token),
        signal: cut.signal,
      });
      // The stream of a response that is collected as garbage is closed.
      return { response, status: response.status, close: () => cut.abort() };
    };
    const first = await open(await signed(claims));
    const second = await open(await signed(claims));
    const third = await open(await signed({ ...claims, viewers: 2 }));
    assert.deepEqual([first.status, second.status, third.status], [200, 200, 503]);
    assert.equal((await open(await signed({ ...claims, sub: "other" }))).status, 200);
    assert.equal((await open(await signed({ relay: ["watch"], sub: "third" }))).status, 200);
    const none = await open(await signed({ ...claims, sub: "nobody", viewers: 0 }));
    assert.equal(none.status, 401);
    first.close();
    for (let again = await open(await signed(claims)); again.status !== 200; )
      again = await open(await signed(claims));
  });
});

describe("an answer to a request with a token", () => {
  const page = `/v1/messages?videoId=${VIDEO}&after=0&limit=1`;
  const cacheOf = async (path: string, init: RequestInit = {}) => {
    const { headers, body } = await ask<{ messages?: object[] }>(relay.url, path, init);
    return { cache: headers.get("cache-control"), link: headers.get("link") ?? "", body };
  };
  before(async () => {
    await wholeStream(`/v1/stream?videoId=${VIDEO}`);
  });

  it("is for no shared cache, in the header and in the query", async () => {
    const token = await signed({ relay: ["watch"] });
    const first = await cacheOf(page, { headers: bearer(token) });
    assert.equal(first.cache, "private, max-age=31536000, immutable");
    assert.equal((await cacheOf(`${page}&access_token=${token}`)).cache, first.cache);
    assert.equal((await cacheOf(`/v1/rooms/${VIDEO}`, { headers: bearer(token) })).cache, "private");
    const log = await fetch(`${relay.url}/v1/log/${VIDEO}?access_token=${token}`);
    assert.match(log.headers.get("cache-control") ?? "", /^private, max-age=1/);
    const stream = await fetch(`${relay.url}/v1/stream?videoId=${VIDEO}&access_token=${token}`);
    assert.equal(stream.headers.get("cache-control"), "private, no-cache");
    await stream.body?.cancel();
  });

  it("has links without it, which lead on", async () => {
    const token = await signed({ relay: ["watch"] });
    for (const place of ["", "&"]) {
      const path =
        place === ""
          ? `/v1/messages?access_token=${token}&videoId=${VIDEO}&after=0&limit=1`
          : `${page}&access_token=${token}`;
      const { link, body } = await cacheOf(path);
      assert.equal(body.messages?.length, 1);
      const [, next = ""] = /<(\?[^>]+)>; rel="next"/.exec(link) ?? [];
      assert.match(next, /after=/);
      assert.doesNotMatch(link, /access_token/);
      const second = await cacheOf(`/v1/messages${next}`, { headers: bearer(token) });
      assert.equal(second.body.messages?.length, 1);
    }
  });
});

it("a token in the query may be percent-encoded, as any value there", async () => {
  const token = "admin+token/of=a&test%20";
  await using own = await startRelay({ settings: { RELAY_PUBLIC: "none", RELAY_ADMIN_TOKEN: token } });
  const query = new URLSearchParams({ access_token: token });
  assert.equal((await ask(own.url, `/v1/rooms?${query}`)).status, 200);
  assert.equal((await ask(own.url, "/v1/rooms?access_token=%zz")).status, 401);
});
