/** The uptime of the system's clock, which reads the system only after a step of the wall clock. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock, uptimeBy } from "../../../src/base/clock.ts";
import { FakeClock } from "../../support/fake-clock.ts";

/** Linux rounds the uptime to this many milliseconds. */
const ROUNDED_MS = 10;

/** The uptime by a fake clock, and how often it read the system's. */
function watchedUptime(clock: FakeClock) {
  let readings = 0;
  const uptime = uptimeBy(clock, () => {
    readings += 1;
    return clock.uptime();
  });
  return { uptime, readings: () => readings };
}

describe("the uptime", () => {
  it("is read from the system once, as long as the computer does not sleep", async () => {
    const clock = new FakeClock();
    const { uptime, readings } = watchedUptime(clock);
    for (let hour = 0; hour < 100; hour++) {
      assert.equal(uptime(), clock.uptime());
      await clock.advance(3_600_000);
    }
    assert.equal(readings(), 1);
  });

  it("counts the time in which the computer slept, however short the sleeps", async () => {
    const clock = new FakeClock();
    const { uptime } = watchedUptime(clock);
    uptime();
    for (const ms of [6, 3_600_000, ...Array(4).fill(2)]) {
      clock.fallAsleep(ms);
      await clock.advance(10);
      assert.ok(Math.abs(uptime() - clock.uptime()) <= 5, `${ms} ms`);
    }
  });

  it("is not changed by setting the wall clock", () => {
    const clock = new FakeClock();
    const { uptime } = watchedUptime(clock);
    for (const ms of [3_600_000, -7_200_000, 1]) {
      clock.jump(ms);
      assert.equal(uptime(), clock.uptime());
    }
  });

  it("of this computer advances with the monotonic clock", async () => {
    // However long a reading takes, the clock that is read before and after it gives its bounds.
    const read = () => [systemClock.monotonic(), systemClock.uptime(), systemClock.monotonic()] as const;
    const [earliest, uptime, latest] = read();
    assert.ok(uptime > 1000, "longer than this process");
    await systemClock.sleep(3 * ROUNDED_MS); // the computer's clock has no other way
    const [from, later, until] = read();
    const passed = later - uptime;
    assert.ok(
      passed >= from - latest - ROUNDED_MS && passed <= until - earliest + ROUNDED_MS,
      `${passed} ms`,
    );
  });
});
