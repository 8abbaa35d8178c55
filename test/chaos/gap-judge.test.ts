/** Which gaps behind which nothing is missing chaos calls needless. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { simulateInProcess } from "../../simulator/index.ts";
import type { RequestRecord } from "../../simulator/requests.ts";
import { GapJudge } from "./gap-judge.ts";
import { RoomTruth } from "./room-truth.ts";

const VIDEO = "gap-judge-1";

/** A call's kind, and the seconds before the gap's end at which it arrived and was answered. */
type Call = [kind: "get_live_chat" | "popout", at: number, answered: number, more?: Partial<RequestRecord>];

/** Seconds between the last good answer and the gap's end, the calls, and the fault of the gap. */
const CASES: Record<string, { since: number; calls: Call[]; fault?: RegExp }> = {
  "is right after eleven silent seconds": { since: 11, calls: [["get_live_chat", 11.2, 11]] },
  "is needless after nine": {
    since: 9,
    calls: [["get_live_chat", 9.2, 9]],
    fault: /no more than 9[23]/,
  },
  "is right after nine if the answer before it took two": { since: 9, calls: [["get_live_chat", 11, 9]] },
  "is needless after nine if another room's answer took two": {
    since: 9,
    calls: [["get_live_chat", 11, 9, { videoId: "gap-judge-2" }]],
    fault: /no more than/,
  },
  "is needless after nine if the call that took two was lost": {
    since: 9,
    calls: [
      ["get_live_chat", 9.2, 9],
      ["get_live_chat", 11, 8.95, { status: 503 }],
    ],
    fault: /no more than/,
  },
  "is right after nine if a page was requested and did not come": {
    since: 9,
    calls: [
      ["get_live_chat", 9.2, 9],
      ["popout", 5, 4, { status: 503 }],
    ],
  },
  "is needless if a whole page overlaps with the room, and an answer follows it": {
    since: 30,
    calls: [
      ["get_live_chat", 30.2, 30],
      ["popout", 5, 4],
      ["get_live_chat", 3.9, 3.8],
    ],
    fault: /although the page/,
  },
  "is right if the answer behind the page was refused": {
    since: 30,
    calls: [
      ["get_live_chat", 30.2, 30],
      ["popout", 5, 4],
      ["get_live_chat", 3.9, 3.8, { status: 400 }],
    ],
  },
  "is right if the answer behind the page came too late": {
    since: 30,
    calls: [
      ["get_live_chat", 30.2, 30],
      ["popout", 15, 14],
      ["get_live_chat", 9, 8.9],
    ],
  },
};

describe("a gap without missing messages", () => {
  for (const [what, { since, calls, fault }] of Object.entries(CASES))
    it(what, () => {
      const upstream = simulateInProcess();
      const room = new RoomTruth(upstream.chat(VIDEO), "live", { pageLength: 50 });
      const end = performance.now();
      const judge = new GapJudge();
      judge.observe(
        calls.map(([kind, at, answered, more]): RequestRecord => {
          const times = { at: end - 1000 * at, finishedAt: end - 1000 * answered };
          const call = { host: "main", method: "GET", path: "/", headers: {}, from: "127.0.0.1" } as const;
          return { ...call, ...times, kind, videoId: VIDEO, status: 200, ...more };
        }),
      );
      const storedAt = performance.timeOrigin + end;
      const gap = { cursor: 100, missing: 0, lastJoining: 0 };
      const found = judge.fault(room, gap, { since: storedAt - 1000 * since, storedAt });
      if (fault) assert.match(String(found), fault);
      else assert.equal(found, undefined);
    });
});
