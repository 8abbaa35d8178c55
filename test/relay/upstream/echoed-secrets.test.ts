/** An upstream whose errors repeat what the service has sent: no answer and no log shows its secrets. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import type { Failure } from "../../../simulator/faults.ts";
import type { RequestKind } from "../../../simulator/requests.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { assertFails } from "../../support/answered-room.ts";
import { ask, assertRefused, type ProbeBody, pollOf, post, secretsOf, session } from "../../support/api.ts";
import { failAlways, openStream } from "../../support/opening.ts";
import { startRelay } from "../../support/relay.ts";

const VIDEO = "echoed-vid1";
const CHAT = ["get_live_chat", "get_live_chat_replay"] as const;
const BLANKED =
  /HTTP 500: Not good: the key …, the version [….\d]+, the visitor (?:…|undefined), the token …/;

/** A relay with a chat, and an upstream that can repeat what it is asked. `heard`: its log. */
async function startEchoed() {
  const heard: string[] = [];
  const telemetry = new Telemetry(pino({ level: "trace" }, { write: (line) => void heard.push(line) }));
  const relay = await startRelay({ telemetry, settings: { RELAY_POLL_MAX_MS: "20" } });
  const { upstream } = relay;
  upstream.chat(VIDEO, { tokens: "reusable", timeoutMs: 5, page: 1, works: [{}] }).say(1);
  const echo: Failure = {
    answer: (response) => {
      const { path, headers, continuation = "…" } = upstream.requests.at(-1) ?? assert.fail();
      const key = new URL(path, relay.url).searchParams.get("key");
      const [version, visitor] = [headers["x-youtube-client-version"], headers["x-goog-visitor-id"]];
      const message = `Not good: the key ${key}, the version ${version}, the visitor ${visitor}, the token ${continuation}`;
      response.writeHead(500).end(JSON.stringify({ error: { code: 500, message } }));
    },
  };
  const fail = (kinds: readonly RequestKind[]) => failAlways(relay, kinds, echo);
  const assertBlank = () => {
    for (const secret of [upstream.credentials.clientVersion, ...secretsOf(upstream)])
      for (const text of heard) assert.ok(!text.includes(secret), `${secret} is in ${text}`);
  };
  return { relay, heard, fail, assertBlank };
}

describe("secrets that the upstream's error repeats", () => {
  it("are not in the error frame of a stream, nor in the log", async () => {
    const { relay, heard, fail, assertBlank } = await startEchoed();
    await using _owned = relay;
    await using stream = await openStream(relay, { videoId: VIDEO });
    await stream.untilMessages(1);
    fail(CHAT);
    await assertFails(stream);
    assert.match(heard.join(""), BLANKED);
    const frame = JSON.stringify(stream.frames.at(-1));
    assert.match(frame, BLANKED);
    heard.push(frame);
    assertBlank();
  });

  it("are not in the refusals of streams, sessions and polls, nor in the log", async () => {
    const { relay, heard, fail, assertBlank } = await startEchoed();
    await using _owned = relay;
    const { url } = relay;
    const poll = pollOf(await session(url, { videoId: VIDEO }));
    fail(CHAT);
    const messages = [
      assertRefused(await ask(url, `/v1/stream?videoId=${VIDEO}`), 502, "NO_WORKING_CLIENT"),
      assertRefused(await post(url, "/v1/sessions", { videoId: VIDEO }), 502, "NO_WORKING_CLIENT"),
      assertRefused(await post(url, "/v1/poll", poll), 502, "UPSTREAM_ERROR"),
    ];
    for (const message of messages) assert.match(message, BLANKED);
    heard.push(...messages);
    assertBlank();
  });

  it("are not in the rows of a probe", async () => {
    const { relay, heard, fail, assertBlank } = await startEchoed();
    await using _owned = relay;
    fail(CHAT);
    const { body } = await post<ProbeBody>(relay.url, "/v1/probe", { videoId: VIDEO });
    assert.equal(body.rows.length, 24);
    for (const { error } of body.rows) assert.match(error ?? "", BLANKED);
    heard.push(JSON.stringify(body));
    assertBlank();
  });

  it("are not in the refusal of a video whose pages cannot be read", async () => {
    const { relay, heard, fail, assertBlank } = await startEchoed();
    await using _owned = relay;
    failAlways(relay, ["popout", "watch"], "bot");
    fail(["next"]);
    const answer = await post(relay.url, "/v1/sessions", { videoId: VIDEO });
    const message = assertRefused(answer, 404, "NO_LIVE_CHAT");
    assert.match(message, BLANKED);
    heard.push(message);
    assertBlank();
  });
});
