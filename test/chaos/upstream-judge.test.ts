/** When a chat call may follow the one before it at once, in the eyes of chaos. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Grant, TokenBook } from "../../simulator/continuation-book.ts";
import { Random } from "../../simulator/random.ts";
import type { RequestKind, RequestRecord } from "../../simulator/requests.ts";
import { UpstreamJudge } from "./upstream-judge.ts";
import { Verdict } from "./verdict.ts";

const LIMITS = { spacingMs: 1, concurrency: 8, cooldownMs: 1000, pollMinMs: 1000 };

/**
 * The faults of requests that come every ten milliseconds. Chat calls are named by the view they read;
 * `behind`: with a token that was made before all others.
 */
function faults(...asked: ("page" | "behind" | Grant["view"])[]): string[] {
  const book = new TokenBook(new Random(1));
  const beganAt = performance.now() + 1000;
  const records = asked.map((what, index): RequestRecord => {
    const at = beganAt + 10 * index;
    const kind: RequestKind = what === "page" ? "popout" : "get_live_chat";
    const grant = { videoId: "judged-0001", kind: "live", view: "all", position: 0 } as const;
    const view = what === "top" ? "top" : "all";
    const token = () => book.mint({ ...grant, view }, "channel", what === "behind" ? 0 : 1 + index);
    const continuation = what === "page" ? {} : { continuation: token() };
    const given = { host: "main", method: "GET", path: "/", headers: {}, from: "", client: "WEB" } as const;
    return { ...given, at, kind, videoId: grant.videoId, status: 200, finishedAt: at + 1, ...continuation };
  });
  const verdict = new Verdict();
  const judge = new UpstreamJudge({ requests: records }, LIMITS, verdict);
  judge.lifeBegins();
  judge.judge();
  judge.close();
  return verdict.violations;
}

describe("a chat call right after the one before it", () => {
  it("is right with the token of a page, and with that of all messages which the page's first answer offers", () => {
    assert.deepEqual(faults("page", "top", "all"), []);
    assert.deepEqual(faults("page", "all", "page", "all"), []);
  });

  it("is measured from a late answer if its page has completed that", () => {
    assert.deepEqual(faults("page", "all", "behind"), []);
    assert.equal(faults("all", "page", "all", "behind").length, 1);
  });

  for (const asked of [
    ["page", "top", "all", "all"],
    ["page", "all", "all"],
    ["page", "top", "top"],
  ] as const)
    it(`is wrong at the end of ${asked.join(", ")}`, () => {
      const [first = "", ...others] = faults(...asked);
      assert.match(first, /polled again after 10/);
      assert.deepEqual(others, []);
    });
});
