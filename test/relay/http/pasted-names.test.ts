/** Names of videos and channels as people paste them, at each door of the service that takes one. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ask, assertRefused, post } from "../../support/api.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { SECRET, signed } from "../../support/tokens.ts";

const VIDEO = "pasted-id_1";
const PERSIAN = "@می\u200cخواهم";
const ADMIN = "a-secret-of-the-admin";

/** Videos: the id with what people paste around it. */
const PASTED = [
  `https://www.youtube.com/watch?v=${VIDEO}?si=AbC`,
  `https://youtu.be/${VIDEO}&t=5`,
  `https://www.youtube.com/live/${VIDEO}&feature=share`,
  `<https://youtu.be/${VIDEO}>`,
  `\u202ahttps://m.youtu.be/${VIDEO}\u202c\u200b`,
  `https://consent.youtube.com/m?continue=https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3D${VIDEO}&gl=DE`,
  `https://www.youtube.com/signin?next=%2Fwatch%3Fv%3D${VIDEO}`,
];

/** Sends the admin's token. */
const put = (relay: TestRelay, name: string) =>
  fetch(`${relay.url}/v1/recordings/${encodeURIComponent(name)}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${ADMIN}` },
  });

/** The first bytes of a stream that has begun with a video. */
async function beginning({ url }: TestRelay, query: string): Promise<string> {
  const leaving = new AbortController();
  const response = await fetch(`${url}/v1/stream?${query}`, { signal: leaving.signal });
  assert.equal(response.status, 200, query);
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (text.includes("event: init")) break;
  }
  leaving.abort();
  return text;
}

describe("a name as people paste it", () => {
  let relay: TestRelay;
  before(async () => {
    relay = await startRelay({
      settings: { RELAY_ADMIN_TOKEN: ADMIN, RELAY_TOKEN_KEY: SECRET, RELAY_PUBLIC: "watch,poll,probe,rooms" },
    });
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
  });
  after(() => relay[Symbol.asyncDispose]());

  for (const pasted of PASTED) {
    const encoded = encodeURIComponent(pasted);

    it(`opens a video: ${JSON.stringify(pasted)}`, async () => {
      assert.match(await beginning(relay, `videoId=${encoded}`), new RegExp(`"videoId":"${VIDEO}"`));
      const { status, body } = await post(relay.url, "/v1/sessions", { videoId: pasted });
      assert.deepEqual([status, (body as { videoId: string }).videoId], [200, VIDEO]);
    });

    it(`names a stored video: ${JSON.stringify(pasted)}`, async () => {
      await beginning(relay, `videoId=${VIDEO}`);
      for (const path of [
        `/v1/messages?videoId=${encoded}`,
        `/v1/rooms/${encoded}`,
        `/v1/videos/${encoded}`,
        `/v1/log/${encoded}`,
      ])
        assert.equal((await fetch(relay.url + path)).status, 200, path);
      const twice = await ask<{ message: string }>(relay.url, `/v1/merged?videoIds=${VIDEO},${encoded}`);
      assert.match(twice.body.message, /names pasted-id_1 twice/);
    });

    it(`is one recording: ${JSON.stringify(pasted)}`, async () => {
      await put(relay, VIDEO);
      assert.equal((await put(relay, pasted)).status, 200);
    });
  }

  for (const [pasted, name, handle] of [
    [`\u200f${PERSIAN}\u200e`, PERSIAN, PERSIAN],
    [`https://www.youtube.com/${encodeURIComponent(PERSIAN)}/live`, PERSIAN, PERSIAN],
    ["＠Wide", "@wide", "@wide"],
    ["https://www.youtube.com/user/OldName", "user/OldName", "@oldname"],
    ["<https://consent.youtube.com/m?continue=https%3A%2F%2Fwww.youtube.com%2F%40some>", "@some", "@some"],
  ] as const) {
    it(`opens the chat of a channel: ${JSON.stringify(pasted)}`, async () => {
      relay.upstream
        .channel(handle)
        .broadcast(VIDEO, { chat: { kinds: ["text"] } })
        .chat.say(1);
      const text = await beginning(relay, `channel=${encodeURIComponent(pasted)}`);
      assert.match(text, new RegExp(`"channel":"${name}",.*"videoId":"${VIDEO}"`));
      await put(relay, name);
      assert.equal((await put(relay, pasted)).status, 200);
    });
  }

  it("opens the channel of a Studio's page", async () => {
    const channel = relay.upstream.channel("@studio");
    channel.broadcast(VIDEO, { chat: { kinds: ["text"] } }).chat.say(1);
    const url = `https://studio.youtube.com/channel/${channel.channelId}/livestreaming/manage`;
    const text = await beginning(relay, `channel=${encodeURIComponent(url)}`);
    assert.match(text, new RegExp(`"channel":"${channel.channelId}",.*"videoId":"${VIDEO}"`));
  });

  it("is refused with an invisible character within, which the answer shows", async () => {
    const id = `${VIDEO.slice(0, 4)}\u200b${VIDEO.slice(4)}`;
    for (const [path, code] of [
      [`/v1/stream?videoId=`, "INVALID_VIDEO_ID"],
      [`/v1/messages?videoId=`, "INVALID_VIDEO_ID"],
      [`/v1/rooms/`, "INVALID_VIDEO_ID"],
      [`/v1/merged?videoIds=`, "INVALID_VIDEO_ID"],
      [`/v1/stream?channel=`, "INVALID_REQUEST"],
    ] as const) {
      const pasted = encodeURIComponent(`\u202a${id}\u202c`);
      const answer = await ask<{ message: string }>(relay.url, path + pasted);
      assertRefused(answer, 400, code);
      assert.match(answer.body.message, /“pastU\+200Bed-id_1”/);
    }
    const { body } = await post<{ message: string }>(relay.url, "/v1/probe", { videoId: `${id}\u200b` });
    assert.match(body.message, /“pastU\+200Bed-id_1”/);
    assert.match(await (await put(relay, id)).text(), /“pastU\+200Bed-id_1”/);
  });

  it("is a right under the same name", async () => {
    await using limited = await startRelay({
      upstream: relay.upstream,
      settings: {
        RELAY_TOKEN_KEY: SECRET,
        RELAY_PUBLIC: `watch:<https://youtu.be/${VIDEO}&t=5>,watch:＠wide\u200b`,
      },
    });
    relay.upstream
      .channel("@wide")
      .broadcast("wide-video1", { chat: { kinds: ["text"] } })
      .chat.say(1);
    for (const query of [`videoId=${VIDEO}`, "channel=@wide"]) await beginning(limited, query);
    const other = `/v1/rooms/another-id1`;
    assert.equal((await fetch(limited.url + other)).status, 401);
    const token = await signed({ relay: ["watch:https://www.youtube.com/live/another-id1&feature=share"] });
    assert.equal((await fetch(`${limited.url}${other}?access_token=${token}`)).status, 404);
  });
});
