/** Offsets of a log, and the cursors that its live answers carry for caches. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ENDED } from "../../../src/protocol/chat.ts";
import { RelayError } from "../../../src/protocol/errors.ts";
import { CacheCursors, MAX_CURSOR_DIGITS } from "../../../src/serving/cache-cursors.ts";
import { EventForms } from "../../../src/serving/log-forms.ts";
import { offsetOf, parseLogOffset, positionIn } from "../../../src/serving/log-position.ts";

describe("an offset", () => {
  it("names a cursor, and sorts as the cursors do", () => {
    const cursors = [0, 9, 10, 1_795_163_753_063, Number.MAX_SAFE_INTEGER];
    const offsets = cursors.map(offsetOf);
    assert.deepEqual(offsets.toSorted(), offsets);
    assert.deepEqual(offsets.map(parseLogOffset), cursors);
  });

  it("is the beginning if absent or -1, and the end if `now`", () => {
    assert.deepEqual([undefined, "-1", "now"].map(parseLogOffset), ["begin", "begin", "now"]);
  });

  it("is refused in any other form", () => {
    const malformed = ["", "1", "-2", "NOW", " now", "00000000000000001", "000000000000000x"];
    assert.deepEqual(
      malformed.map(parseLogOffset),
      malformed.map(() => undefined),
    );
  });
});

describe("the position of an offset", () => {
  it("is ahead of every log if no cursor is as large", () => {
    const position = parseLogOffset("9".repeat(16)) ?? assert.fail("it is malformed");
    assert.throws(() => positionIn(position, 10, Number.MAX_SAFE_INTEGER), { code: "OFFSET_GONE" });
  });

  it("is in the log from its floor to its end", () => {
    assert.deepEqual(
      (["begin", "now", 10, 15, 20] as const).map((position) => positionIn(position, 10, 20)),
      [10, 20, 10, 15, 20],
    );
    for (const [position, why] of [
      [9, "the messages after it are gone"],
      [21, "it comes from another store"],
    ] as const)
      assert.throws(() => positionIn(position, 10, 20), {
        code: "OFFSET_GONE",
        status: 410,
        message: `offset: is not in this log: ${why}, or it is one of the video's other chat. The log begins at 0000000000000010.`,
      });
  });

  it("may be the floor of a closed log of which nothing is left", () => {
    assert.equal(positionIn(30, 30, 20), 30);
    assert.throws(() => positionIn(25, 30, 20), { code: "OFFSET_GONE" });
  });
});

describe("the cursor for caches", () => {
  const at = (interval: number, random = 0) =>
    new CacheCursors({ now: () => Date.UTC(2024, 9, 9) + interval * 20_000 + 19_999, random: () => random });

  it("is the number of the interval of 20 s since October 9, 2024", () => {
    assert.equal(at(0).current(), 0n);
    assert.equal(at(1234).current(), 1234n);
  });

  it("is beyond the client's own if that is the current one or later", () => {
    for (const random of [0, 0.5, 0.9999]) {
      for (const own of ["1234", "1235", "99999", "9".repeat(16), "9".repeat(MAX_CURSOR_DIGITS)]) {
        const min = at(1234, random).minFor(own);
        assert.ok(min > BigInt(own) && min <= BigInt(own) + 180n, `${own}: ${min}`);
      }
    }
  });

  it("is the same for all clients that send the same one, so that they keep sharing answers", () => {
    const randoms = [0.1, 0.5, 0.9];
    const cursors = new CacheCursors({
      now: () => Date.UTC(2024, 9, 9) + 1234 * 20_000,
      random: () => randoms.shift() ?? 0,
    });
    const next = new Set(["1234", "1234", "1234"].map((own) => cursors.minFor(own)));
    assert.equal(next.size, 1);
  });

  it("is beyond the client's own in events, by one of few steps", () => {
    const steps = new Set<bigint>();
    for (let own = 1n; own < 10n ** 20n - 1n; own = 2n * own + 1n) {
      for (const sent of [own - 1n, own, own + 1n]) {
        const step = at(1234).stepFor(`${sent}`);
        assert.ok(1234n + step > sent, `${sent}: ${step}`);
        steps.add(step);
      }
    }
    assert.ok(steps.size <= 70, `${steps.size} steps`);
  });

  it("is beyond the client's own in events that were made for others, just before the interval began", () => {
    const now = () => Date.UTC(2024, 9, 9) + 1234 * 20_000 + 500;
    for (const sent of [1232n, 1233n, 1234n]) {
      const step = new CacheCursors({ now, random: () => 0 }).stepFor(`${sent}`);
      assert.ok(1233n + step > sent, `${sent}: ${step}`);
    }
  });

  it("is the current one for a client that has an earlier one, none, or no cursor", () => {
    for (const own of [undefined, "1233", "0001", "", "-1", "x"])
      assert.deepEqual([at(1234).minFor(own), at(1234).stepFor(own)], [0n, 0n], String(own));
  });

  it("is the current one for a client that came with more digits than count", () => {
    const longest = "9".repeat(MAX_CURSOR_DIGITS);
    for (const beyond of [at(1234).minFor(longest), 1234n + at(1234).stepFor(longest)])
      assert.ok(beyond > BigInt(longest), `${beyond}`);
    assert.deepEqual([at(1234).minFor(`${longest}9`), at(1234).stepFor(`${longest}9`)], [0n, 0n]);
  });
});

it("the last event closes a log whose chat is over, and not one whose chat has failed", () => {
  const { bare } = new EventForms(new CacheCursors({ now: () => 0, random: () => 0 })).for(undefined);
  const { body: error } = new RelayError("UPSTREAM_ERROR", "YouTube does not answer.");
  assert.match(bare.end(ENDED, 7, undefined).bytes.toString(), /"streamClosed":true/);
  assert.equal(bare.end({ state: "failed", error }, 7, undefined).bytes.length, 0);
});
