/** Work that is done once for all who ask for the same while it is in flight. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SharedWork } from "../../../src/base/shared-work.ts";

/** Work that ends when the test says so, and the signals that it was given. */
function stage() {
  const shared = new SharedWork<number>();
  const begun: { signal: AbortSignal; end: PromiseWithResolvers<number> }[] = [];
  const ask = (key: string, signal = new AbortController().signal) =>
    shared.run(
      key,
      (abandoned) => {
        const end = Promise.withResolvers<number>();
        begun.push({ signal: abandoned, end });
        return end.promise;
      },
      signal,
    );
  return { begun, ask };
}

describe("shared work", () => {
  it("is done once for each key while it is in flight", async () => {
    const { begun, ask } = stage();
    const asked = [ask("a"), ask("b"), ask("a")];
    for (const [n, { end }] of begun.entries()) end.resolve(n);
    assert.deepEqual(await Promise.all(asked), [0, 1, 0]);
    const later = ask("a");
    begun.at(-1)?.end.resolve(2);
    assert.equal(await later, 2);
  });

  it("fails for all who wait for it, and not for the next", async () => {
    const { begun, ask } = stage();
    const asked = [ask("a"), ask("a")];
    begun[0]?.end.reject(new Error("a bug"));
    for (const one of asked) await assert.rejects(one, /a bug/);
    const later = ask("a");
    begun[1]?.end.resolve(1);
    assert.equal(await later, 1);
  });

  it("is aborted when the last one gives up, and begins again for the next one", async () => {
    const { begun, ask } = stage();
    const [one, other] = [new AbortController(), new AbortController()];
    const asked = [ask("a", one.signal), ask("a", other.signal)];
    one.abort(new Error("gone"));
    await assert.rejects(asked[0] ?? assert.fail(), /gone/);
    assert.equal(begun[0]?.signal.aborted, false);
    other.abort(new Error("gone, too"));
    await assert.rejects(asked[1] ?? assert.fail(), /gone, too/);
    assert.equal(begun[0]?.signal.aborted, true);
    const later = ask("a");
    begun[1]?.end.resolve(1);
    assert.equal(await later, 1);
  });
});
