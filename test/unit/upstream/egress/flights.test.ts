/** Calls for the same are one call, for as long as anybody waits for it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "../../../../src/base/clock.ts";
import { toConfig } from "../../../../src/cli/config.ts";
import { readFlags } from "../../../../src/cli/flags.ts";
import { SETTINGS } from "../../../../src/cli/setting-table.ts";
import { silentLog } from "../../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../../src/telemetry/telemetry.ts";
import type { IncomingAnswer } from "../../../../src/upstream/egress/connections.ts";
import { EgressPool } from "../../../../src/upstream/egress/pool.ts";
import { UpstreamError } from "../../../../src/upstream/upstream-error.ts";
import { metricOf } from "../../../harness/metric.ts";
import { gateBench } from "../../../support/gate-bench.ts";

describe("identical in-flight upstream requests: collapsed into one call", () => {
  it("answers all callers of the same request with one call", async () => {
    const { clock, call, starts } = gateBench();
    const done = Promise.all([call("same"), call("same"), call("same")]);
    await clock.advance(100);
    assert.deepEqual(await done, ["same", "same", "same"]);
    assert.equal(starts.length, 1);
  });

  it("joins a running call, and makes a new one after it", async () => {
    const { clock, call, starts } = gateBench();
    const first = call("same", { takesMs: 100 });
    await clock.advance(50);
    const second = call("same");
    await clock.advance(1000);
    await Promise.all([first, second]);
    assert.equal(starts.length, 1);
    await Promise.all([call("same"), clock.advance(100)]);
    assert.equal(starts.length, 2);
  });

  it("is a new call if it is requested at the moment when the first is answered or has failed", async () => {
    const { clock, call, starts } = gateBench();
    const again = call("same").then(() => call("same"));
    const failed = call("other", { fails: new UpstreamError("unusable", "no") }).catch(() => call("other"));
    await clock.advance(2000);
    assert.deepEqual(await Promise.all([again, failed]), ["same", "other"]);
    assert.equal(starts.length, 4);
  });

  it("continues for the others when one caller gives up, and stops when all have", async () => {
    const { clock, call, aborted } = gateBench();
    const impatient = new AbortController();
    const alone = new AbortController();
    const left = call("same", { takesMs: 1000, signal: impatient.signal });
    const stays = call("same");
    const other = call("other", { takesMs: 1000, signal: alone.signal });
    const outcomes = Promise.allSettled([left, stays, other]);
    await clock.advance(500);
    impatient.abort();
    alone.abort();
    await clock.advance(1000);
    assert.deepEqual(
      (await outcomes).map(({ status }) => status),
      ["rejected", "fulfilled", "rejected"],
    );
    assert.equal(aborted(), 1);
  });

  it("starts for the others when one caller may no longer call, and for nobody alone", async () => {
    const { clock, call, starts } = gateBench();
    const beforeStart = () => {
      throw new Error("its room has another owner");
    };
    const outcomes = Promise.allSettled([
      call("first"),
      call("same", { beforeStart }),
      call("same"),
      call("alone", { beforeStart }),
    ]);
    await clock.advance(2000);
    assert.deepEqual(
      (await outcomes).map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled", "rejected"],
    );
    assert.deepEqual(
      starts.map(({ name }) => name),
      ["first", "same"],
    );
  });

  it("never starts a call that all callers left while it waited", async () => {
    const { clock, call, starts } = gateBench();
    const gone = new AbortController();
    const first = call("first");
    const second = call("second", { signal: gone.signal });
    gone.abort();
    await assert.rejects(second);
    await clock.advance(1000);
    await first;
    assert.deepEqual(
      starts.map(({ name }) => name),
      ["first"],
    );
  });

  it("starts when a caller joins that need not wait", async () => {
    const { clock, call } = gateBench();
    const [long, same] = [call("long", { lane: "caller", takesMs: 60_000 }), call("same", { lane: "probe" })];
    await clock.advance(1000);
    const joined = call("same", { lane: "caller" });
    let answer: unknown;
    void joined.then((name) => {
      answer = name;
    });
    await clock.advance(1000);
    assert.equal(answer, "same");
    await Promise.all([long, same, clock.advance(60_000)]);
  });

  it("is as urgent as its most urgent caller", async () => {
    const { clock, call, starts } = gateBench();
    const done = Promise.all([
      call("first"),
      call("replay", { lane: "replay", dueAt: -1 }),
      call("same", { lane: "probe" }),
      call("same", { lane: "opening" }),
    ]);
    await clock.advance(1000);
    await done;
    assert.deepEqual(
      starts.map(({ name }) => name),
      ["first", "same", "replay"],
    );
  });
});

describe("the outcome of a call, as it is counted", () => {
  /** Makes one call over connections that answer like this, and gives the outcomes that were counted. */
  async function outcomes(answer: (signal: AbortSignal) => Promise<IncomingAnswer>, limit?: AbortSignal) {
    const { upstream } = toConfig(readFlags(SETTINGS, [], {}).values);
    const telemetry = new Telemetry(silentLog);
    const connectionsOf = () => ({
      open: async () => {},
      request: (_request: object, signal: AbortSignal) => answer(signal),
      close: async () => {},
    });
    const pool = new EgressPool({ ...upstream, clock: systemClock, telemetry, connectionsOf });
    await assert.rejects(pool.best.trial(limit ?? new AbortController().signal, 0));
    await pool.close();
    const names = ["unusable", "aborted", "bug"];
    const labels = 'egress="direct",client="none",endpoint="/sw.js"';
    const counts = await Promise.all(
      names.map((outcome) =>
        metricOf(telemetry, `relay_upstream_calls_total{${labels},outcome="${outcome}"}`),
      ),
    );
    return names.filter((_, place) => counts[place] === 1);
  }

  const empty = async () => Buffer.alloc(0);
  const redirect = (header: IncomingAnswer["header"]) => async () => ({ status: 302, header, body: empty });

  it("is the fault of the upstream, an abort of its callers, or a bug of ours", async () => {
    assert.deepEqual(await outcomes(redirect(() => undefined)), ["unusable"]);
    const gone = new AbortController();
    const silent = (signal: AbortSignal) => {
      setImmediate(() => gone.abort(new TypeError("nobody waits")));
      return new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    };
    assert.deepEqual(await outcomes(silent, gone.signal), ["aborted"]);
    const failing = () => {
      throw new TypeError("a bug");
    };
    assert.deepEqual(await outcomes(redirect(failing)), ["bug"]);
  });
});
