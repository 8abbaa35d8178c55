/**
 * An attacker's list for one hour: reading the chat of another channel, learning which videos are stored, and
 * finding a token where others can see it.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { Writable } from "node:stream";
import { after, before, describe, it } from "node:test";
import { chat } from "../../../client/index.ts";
import { createLogger } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { Line } from "../../chaos/line.ts";
import { textAction } from "../../support/chat-actions.ts";
import { startTestEdge } from "../../support/edge.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { SECRET, signed } from "../../support/tokens.ts";

const [MINE, OTHER] = ["mine-video1", "other-video"];
const ADMIN = "an-admin-token-of-a-test";
/** What only the other channel's chat says, and its author. */
const SECRET_WORDS = /hidden words|@hidden/;
const MINE_WORDS = "open words";

/** A relay that shows `@mine` to everybody, has stored the chat of `@other`, and accepts tokens. */
async function startGuarded(more: object = {}, telemetry?: Telemetry): Promise<TestRelay> {
  const settings = {
    RELAY_PUBLIC: "watch:@mine",
    RELAY_TOKEN_KEY: SECRET,
    RELAY_ADMIN_TOKEN: ADMIN,
    ...more,
  };
  const relay = await startRelay({ settings, ...(telemetry && { telemetry }) });
  const says = (id: string, text: string, author: string) => [textAction(id, { text, author })];
  const mine = relay.upstream.channel("@mine").broadcast(MINE, { chat: { timeoutMs: 20 } });
  mine.chat.say(says("m", MINE_WORDS, "@ann"));
  const other = relay.upstream.channel("@other").broadcast(OTHER, { chat: { timeoutMs: 20 } });
  other.chat.say(says("o", "hidden words", "@hidden"));
  for (const videoId of [MINE, OTHER]) {
    const asked = get(`/v1/stream?videoId=${videoId}`, `Authorization: Bearer ${ADMIN}`);
    await answerTo(relay.url, asked, " words");
  }
  return relay;
}

/** Everything that is answered to the bytes, until the connection ends or the text is there. */
async function answerTo(url: string, bytes: string, until = "\0"): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.setTimeout(10_000, () => socket.destroy(new Error("no answer")));
  let text = "";
  socket.setEncoding("utf8").on("data", (data) => {
    text += data;
    if (text.includes(until)) socket.destroy();
  });
  socket.write(bytes);
  await once(socket, "close");
  return text;
}

/** A request as bytes; `lines`: more of its head. */
const get = (target: string, ...lines: string[]): string =>
  `${[`GET ${target} HTTP/1.1`, "Host: relay", "Connection: close", ...lines].join("\r\n")}\r\n\r\n`;

describe("an attempt to read another channel's chat", () => {
  let relay: TestRelay;
  let token: string;
  before(async () => {
    relay = await startGuarded();
    token = await signed({ relay: [`watch:${MINE}`, "rooms", "probe", "poll", "record"] });
  });
  after(() => relay[Symbol.asyncDispose]());

  const PATHS = [
    `/v1/stream?videoId=${OTHER}`,
    `/v1/merged?videoIds=${OTHER}`,
    `/v1/messages?videoId=${OTHER}`,
    `/v1/log/${OTHER}`,
    `/v1/rooms/${OTHER}`,
    `/v1/videos/${OTHER}`,
  ];
  const encoded = [...OTHER].map((c) => `%${c.charCodeAt(0).toString(16)}`).join("");
  const targets: [what: string, ...targets: string[]][] = [
    ["as it is", ...PATHS],
    [
      "by other forms of the path",
      ...PATHS.flatMap((path) => [
        `/${path}`,
        path.replace("/v1/", "/v1//"),
        path.replace("/v1/", "/V1/"),
        path.replace("/v1/", "/v1/./"),
        path.replace("/v1/", "/x/../v1/"),
        path.replace("/v1/", "/%76%31/"),
        path.replace("/v1/", "/v1%2f"),
        path.replace(/(\?|$)/, "/$1"),
        path.replace(/(\?|$)/, ";x$1"),
        path.replace(/(\?|$)/, "%00$1"),
      ]),
    ],
    ["by an absolute target", ...PATHS.map((path) => `http://relay${path}`)],
    [
      "by an id in another form",
      ...PATHS.flatMap((path) => [
        path.replace(OTHER, encoded),
        path.replace(OTHER, encodeURIComponent(`https://youtu.be/${OTHER}`)),
        path.replace(OTHER, encodeURIComponent(`https://www.youtube.com/watch?v=${OTHER}&v=${MINE}`)),
        path.replace(OTHER, `%20${OTHER}%20`),
        path.replace(OTHER, `${OTHER}%00`),
      ]),
    ],
    [
      "beside one that may be read",
      `/v1/stream?videoId=${MINE}&videoId=${OTHER}`,
      `/v1/stream?videoId=${OTHER}&videoId=${MINE}`,
      `/v1/stream?videoId=${MINE}&channel=@other`,
      `/v1/stream?channel=@mine&videoId=${OTHER}`,
      `/v1/stream?channel=@mine&channel=@other`,
      `/v1/stream?videoId=${MINE}&videoIds=${OTHER}`,
      `/v1/stream?videoId[]=${OTHER}&videoId=${MINE}`,
      `/v1/stream?videoId=${MINE}%26videoId=${OTHER}`,
      `/v1/stream?videoId=${MINE};videoId=${OTHER}`,
      `/v1/stream?%76ideoId=${OTHER}`,
      `/v1/merged?videoIds=${MINE},${OTHER}`,
      `/v1/merged?videoIds=${MINE}%2C${OTHER}`,
      `/v1/merged?videoIds=${MINE}&videoIds=${OTHER}`,
      `/v1/merged?videoIds=${MINE}&channels=@other`,
      `/v1/merged?channels=@mine,@other`,
      `/v1/merged?channels=@mine&videoIds=${OTHER}`,
      `/v1/merged?videoId=${MINE}&channels=@other`,
      `/v1/merged?channel=@mine&channels=@other`,
      `/v1/messages?videoId=${MINE}&videoId=${OTHER}`,
      `/v1/log/${OTHER}?videoId=${MINE}`,
      `/v1/rooms/${OTHER}?videoId=${MINE}`,
      `/v1/videos/${OTHER}?videoId=${MINE}`,
      `/v1/log/${MINE}%2f..%2f${OTHER}`,
      `/v1/log/${MINE}/../${OTHER}`,
    ],
    [
      "by the channel",
      "/v1/stream?channel=@other",
      "/v1/merged?channels=@other",
      "/v1/stream?channel=@OTHER",
      "/v1/stream?channel=https://www.youtube.com/@other/@mine",
      "/v1/stream?channel=https://www.youtube.com/@other%3Fx=@mine",
      "/v1/stream?channel=https://www.youtube.com/@other%23/@mine",
      "/v1/stream?channel=c/other",
    ],
    [
      "by what is asked of it",
      ...["format=csv&limit=all", "q=hidden", "before=9999999999999999", "types=gap"].map(
        (query) => `/v1/messages?videoId=${OTHER}&${query}`,
      ),
      `/v1/stream?videoId=${OTHER}&until=now`,
      `/v1/stream?videoId=${OTHER}&lastEventId=0`,
      `/v1/log/${OTHER}?offset=-1`,
      `/v1/log/${OTHER}?offset=-1&live=long-poll`,
      `/v1/log/${OTHER}?offset=-1&live=sse`,
    ],
  ];
  for (const [what, ...each] of targets) {
    it(`${what} fails, without a token and with one of another video`, async () => {
      for (const target of each) {
        for (const lines of [[], [`Authorization: Bearer ${token}`]]) {
          const answer = await answerTo(relay.url, get(target, ...lines), MINE_WORDS);
          // One's own chat alone may come, but not on a connection that also names another.
          if (target.startsWith("/v1/merged") || !answer.includes(MINE_WORDS))
            assert.match(answer, /^HTTP\/1\.1 (30|4)\d/, target);
          assert.doesNotMatch(answer, SECRET_WORDS, target);
        }
      }
    });
  }

  const heads: [what: string, lines: string[]][] = [
    ["other methods in headers", ["X-HTTP-Method-Override: GET", "X-HTTP-Method: HEAD"]],
    ["another URL in headers", ["X-Original-URL: /healthz", "X-Rewrite-URL: /healthz"]],
    [
      "addresses of its own",
      ["X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1", "X-Real-IP: 127.0.0.1"],
    ],
    [
      "a copy that it claims to have",
      ['If-None-Match: *, "x"', "If-Modified-Since: Tue, 24 Nov 2026 20:00:00 GMT"],
    ],
    ["a range", ["Range: bytes=0-"]],
    ["other forms of answers", ["Accept: application/x-ndjson, text/csv, text/event-stream"]],
    ["a token of another kind", ["Authorization: Basic YWRtaW46YWRtaW4="]],
    ["an empty token", ["Authorization: Bearer ", "Cookie: access_token=x"]],
    ["a beginning of the secret", [`Authorization: Bearer ${ADMIN.slice(0, -1)}`]],
    ["the secret and more", [`Authorization: Bearer ${ADMIN} ${ADMIN}`]],
    ["the secret that signs", [`Authorization: Bearer ${SECRET}`]],
    ["two tokens", [`Authorization: Bearer x, Bearer ${ADMIN}x`, "Authorization: Bearer y"]],
    ["the place of another viewer", ["Last-Event-ID: 1"]],
    ["an upgrade", ["Upgrade: websocket", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13"]],
  ];
  for (const [what, lines] of heads) {
    it(`with ${what} fails`, async () => {
      for (const path of PATHS) {
        for (const method of ["GET", "HEAD"]) {
          const answer = await answerTo(relay.url, get(path, ...lines).replace("GET", method), "\r\n\r\n: ");
          assert.match(answer, /^HTTP\/1\.1 4\d\d/, `${method} ${path}`);
          assert.doesNotMatch(answer, SECRET_WORDS, path);
        }
      }
    });
  }

  it("gets nothing if it resumes its own channel's stream in another channel's video", async () => {
    const own = chat(relay.url, { channel: "@mine" });
    await own[Symbol.asyncIterator]().next(); // so the channel's pages are known, for either video
    for (const cursor of [0, 1, 2 ** 52]) {
      const news: string[] = [];
      for (const video of [OTHER, "not-stored1"]) {
        const target = `/v1/stream?channel=@mine&lastEventId=${video}.${cursor}`;
        const answer = await answerTo(relay.url, get(target), "}\n\n");
        assert.doesNotMatch(answer, SECRET_WORDS, target);
        news.push(/^data: (.*)$/m.exec(answer)?.[1] ?? "none");
      }
      assert.equal(news[0], news[1], "it tells whether the video is stored");
    }
    own.close();
  });

  it("fails if it is sent behind an allowed request on one connection", async () => {
    const own = get(`/v1/messages?videoId=${MINE}`).replace("close", "keep-alive");
    const foreign = get(`/v1/messages?videoId=${OTHER}`);
    const ofAdmin = get(`/v1/messages?videoId=${MINE}`, `Authorization: Bearer ${ADMIN}`).replace(
      "close",
      "keep-alive",
    );
    for (const bytes of [own + foreign, ofAdmin + foreign]) {
      const answer = await answerTo(relay.url, bytes);
      assert.match(answer, /^HTTP\/1\.1 200/);
      assert.doesNotMatch(answer, SECRET_WORDS);
    }
    const smuggled = `${own.trimEnd()}\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${foreign}`;
    assert.doesNotMatch(await answerTo(relay.url, smuggled), SECRET_WORDS);
  });
});

describe("a token", () => {
  const lines: string[] = [];
  let relay: TestRelay;
  before(async () => {
    const stdout = new Writable({
      write(chunk, _encoding, done) {
        lines.push(String(chunk));
        done();
      },
    });
    const telemetry = new Telemetry(createLogger("trace", stdout));
    relay = await startGuarded({ RELAY_TRUST_PROXY: "1" }, telemetry);
  });
  after(() => relay[Symbol.asyncDispose]());

  const TARGETS = [
    ...["stream", "messages", "rooms/x", "log/x", "videos/x", "rooms", "recordings", "probe", "nothing"].map(
      (path) => `/v1/${path}`,
    ),
    ...["stream", "messages", "rooms", "log"].map((path) =>
      /rooms|log/.test(path) ? `/v1/${path}/${MINE}` : `/v1/${path}?videoId=${MINE}`,
    ),
    `/v1/messages?videoId=${MINE}&limit=1&after=0`,
    `/v1/messages?videoId=${MINE}&limit=all&format=csv`,
    `/v1/messages?videoId=${MINE}&limit=x`,
    `/v1/log/${MINE}?offset=-1&live=sse`,
    `/v1/merged?videoIds=${MINE},${OTHER}`,
    `/v1/stream?channel=@mine&lastEventId=x`,
    ...[
      "/",
      "/overlay",
      "/overlay/",
      "/overlay/setup/",
      "/probe/",
      "/client.js",
      "/web/page/none.js",
      "/healthz",
    ],
    ...["/readyz", "/%", "//", "/v1/openapi.json", `/${"x".repeat(9000)}`],
  ];

  it("is in no answer, log line or metric, however and wherever it is sent", async () => {
    const accepted = await signed({ relay: ["watch", "record"], sub: "a-user-of-the-test" });
    const refused = "made-up-token-of-a-test";
    const limited = await signed({ relay: ["watch:@else"] });
    const expired = await signed({ relay: ["watch"], exp: 1 });
    for (const token of [accepted, refused, limited, expired, ADMIN]) {
      const [part = token] = token.split(".").slice(-1);
      for (const target of TARGETS) {
        const query = `${target.includes("?") ? "&" : "?"}access_token=${token}`;
        const requests = [
          get(target, `Authorization: Bearer ${token}`),
          get(target + query),
          get(target + query, `Authorization: Bearer ${token}`),
        ];
        // How a request is read does not depend on what its token opens.
        if (token === accepted || token === refused)
          requests.push(
            get(target.replace("?", `?access_token=${token}&`) + (target.includes("?") ? "" : query)),
            get(target + query).replace("GET", "HEAD"),
            get(target + query).replace("GET", "PUT"),
            get(target + query).replace("GET", "OPTIONS"),
            get(`${target}${query}${query}`),
          );
        for (const request of new Set(requests)) {
          const answer = await answerTo(relay.url, request, MINE_WORDS);
          assert.ok(!answer.includes(part), `${request.slice(0, 300)} is answered ${answer.slice(0, 600)}`);
        }
      }
      const metrics = await relay.telemetry.registry.metrics();
      for (const [place, text] of Object.entries({ metrics, log: lines.join("") })) {
        assert.ok(!text.includes(part), `a token is in the ${place}`);
        assert.ok(!text.includes("a-user-of-the-test"), `its user is in the ${place}`);
      }
    }
    assert.match(lines.join(""), /access refused/);
  });

  it("of an edge's viewer does not reach its origin", async () => {
    const origin = await startGuarded({ RELAY_PUBLIC: "watch,rooms" });
    await using _origin = origin;
    await using line = await Line.to(Number(new URL(origin.url).port));
    const keys = { RELAY_PUBLIC: "none", RELAY_TOKEN_KEY: SECRET, RELAY_ADMIN_TOKEN: ADMIN };
    await using edge = await startTestEdge(line.url, keys);
    const token = await signed({ relay: ["watch", "rooms"] });
    for (const target of [
      `/v1/stream?videoId=${MINE}`,
      `/v1/messages?videoId=${MINE}`,
      `/v1/messages?videoId=${MINE}&limit=all&format=ndjson`,
      `/v1/rooms/${MINE}`,
      `/v1/log/${MINE}`,
      "/v1/rooms",
    ]) {
      const query = `${target.includes("?") ? "&" : "?"}access_token=${token}`;
      for (const request of [get(target, `Authorization: Bearer ${token}`), get(target + query)]) {
        const answer = await answerTo(edge.url, request, MINE_WORDS);
        assert.match(answer, /^HTTP\/1\.1 200/, target);
      }
    }
    assert.ok(line.requests.length > 4);
    assert.ok(!line.requests.some((request) => request.includes(token)), "the origin got it");
  });
});

it("the log shows whose token was accepted or refused, by a hash of its subject", async () => {
  const lines: string[] = [];
  const write = (line: Buffer, _encoding: string, done: () => void) => {
    lines.push(`${line}`);
    done();
  };
  await using relay = await startGuarded({}, new Telemetry(createLogger("debug", new Writable({ write }))));
  const headers = { authorization: `Bearer ${await signed({ sub: "ann", relay: ["rooms"] })}` };
  const statusOf = async (path: string) => (await fetch(relay.url + path, { headers })).status;
  const linesOf = async (path: string, status: number) => {
    lines.length = 0;
    assert.equal(await statusOf(path), status);
    const logged = lines.map((line) => JSON.parse(line) as { msg: string; sub?: string });
    return logged.filter(({ msg }) => /^(token|access) /.test(msg)).map(({ msg, sub }) => [msg, sub]);
  };
  const ann = "49915e0d7d4b402e"; // printf %s ann | sha256sum
  assert.deepEqual(await linesOf("/v1/rooms", 200), [["token accepted", ann]]);
  const refused = await linesOf("/v1/recordings", 403);
  assert.deepEqual(refused, [
    ["token accepted", ann],
    ["access refused", ann],
  ]);
});
