/** The judges of connections that carry several chats: what each of them takes for a broken promise. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ChannelFrames } from "./channel-frames.ts";
import type { ChatFrames } from "./chat-frames.ts";
import type { Frame } from "./frames.ts";
import { MergedFrames } from "./merged-frames.ts";

const [FIRST, SECOND] = ["first-video", "other-video"] as const;

/** The judge of one chat, of which this many messages are stored. */
function chatOf(videoId: string, stored: number) {
  const chat = {
    videoId,
    cursor: undefined as number | undefined,
    hasEnded: false,
    get lacksOld() {
      return this.cursor !== undefined && this.cursor < stored;
    },
    get isUpToDate() {
      return this.cursor === stored;
    },
    asks() {},
    begin(init: { cursor: number }) {
      chat.cursor = init.cursor;
    },
    message(cursor: number) {
      chat.cursor = cursor;
    },
    moved(cursor: number) {
      chat.cursor = cursor;
    },
    failed() {},
    end() {},
  };
  return chat satisfies ChatFrames;
}

const frame = (event: string, data: object, id?: string): Frame => ({
  event,
  id,
  cursor: undefined,
  data: JSON.stringify(data),
});
const init = (videoId: string, cursor: number) => frame("init", { videoId, cursor });

describe("the judge of a channel's viewer", () => {
  const live = (videoId: string) => frame("channel", { state: "live", videoId });
  const waiting = frame("channel", { state: "waiting" });
  const message = (videoId: string, cursor: number) =>
    frame("message", { videoId, type: "chat" }, `${videoId}.${cursor}`);
  const ROWS: [what: string, resumed: string | undefined, frames: Frame[], expected: RegExp | undefined][] = [
    [
      "that gets all of a chat",
      undefined,
      [live(FIRST), init(FIRST, 4), message(FIRST, 5), waiting],
      undefined,
    ],
    [
      "whose channel waits before it has all of a chat",
      undefined,
      [live(FIRST), init(FIRST, 3), message(FIRST, 4), waiting],
      /misses what follows 4 before its end/,
    ],
    [
      "that gets no rest of the chat it comes back to",
      `${FIRST}.3`,
      [live(SECOND), init(SECOND, 5)],
      /misses what follows 3 at all/,
    ],
    [
      "that gets a part of the rest of the chat it comes back to",
      `${FIRST}.3`,
      [live(SECOND), init(FIRST, 3), message(FIRST, 4), init(SECOND, 5)],
      /misses what follows 4 of what was stored/,
    ],
    ["that gets the chat of another channel", undefined, [init("foreign-one", 3)], /is sent an init of/],
    [
      "that gets a message after the init of another video",
      undefined,
      [live(FIRST), init(FIRST, 3), message(SECOND, 4)],
      /after the init of another video/,
    ],
  ];
  for (const [what, resumed, frames, expected] of ROWS) {
    it(`${expected ? "objects to" : "is silent about"} one ${what}`, () => {
      const violations: string[] = [];
      const chats = [chatOf(FIRST, 5), chatOf(SECOND, 5)];
      const [known] = chats;
      if (known && resumed) known.cursor = 3;
      const find = (videoId: string) => chats.find((chat) => chat.videoId === videoId);
      const judge = new ChannelFrames("@channel", find, (_, what) => violations.push(what));
      judge.begin(resumed);
      for (const each of frames) judge.take(each);
      if (expected) assert.match(violations.join(), expected);
      else assert.deepEqual(violations, []);
    });
  }
});

describe("the judge of a viewer of several chats", () => {
  const message = (videoId: string, id: string) => frame("message", { videoId, type: "chat" }, id);
  const begun = [init(FIRST, 3), init(SECOND, 3)];
  const ROWS: [what: string, frames: Frame[], expected: RegExp | undefined][] = [
    ["with the ids of all chats", [message(FIRST, "4.3"), message(SECOND, "4.4")], undefined],
    ["with a second init at its cursor", [init(FIRST, 3)], /is sent a second init/],
    ["with an id without a chat", [message(FIRST, "4._")], /is sent the id 4\._, not 4\.3/],
    ["with a chat that it did not ask for", [init("foreign-one", 3)], /is sent init/],
  ];
  for (const [what, frames, expected] of ROWS) {
    it(`${expected ? "objects to" : "is silent about"} one ${what}`, () => {
      const violations: string[] = [];
      const chats = [chatOf(FIRST, 5), chatOf(SECOND, 5)];
      const judge = new MergedFrames(chats, (_, what) => violations.push(what));
      judge.begin(undefined);
      for (const each of [...begun, ...frames]) judge.take(each);
      if (expected) assert.match(violations.join(), expected);
      else assert.deepEqual(violations, []);
    });
  }
});
