/** How the commands of the terminal write: in whole lines, and only as fast as these are taken. */
import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Output } from "../../../src/cli/output.ts";

describe("the output of a command", () => {
  it("does not wait for a reader that has stalled once the command is stopped", async () => {
    const output = new Output(new Writable({ write: () => {} }));
    const stopping = new AbortController();
    void turn().then(() => stopping.abort());
    for (let added = 0; added < 100; added += 1) await output.add("x".repeat(100_000), stopping.signal);
    await output.add("the last line\n", stopping.signal);
    await output.finish(stopping.signal);
  });

  it("waits for a slow reader, however few lines come at once", async () => {
    const taken: (() => void)[] = [];
    const stream = new Writable({ write: (_chunk, _encoding, done) => void taken.push(done) });
    const output = new Output(stream);
    const line = `${"x".repeat(1000)}\n`;
    let added = 0;
    const adding = (async () => {
      for (; added < 1000; added += 1) {
        await output.add(line);
        await turn(); // the next line comes later
      }
    })();
    for (let turns = 0; turns < 5000; turns += 1) await turn();
    assert.ok(stream.writableLength < 100_000, `${stream.writableLength} bytes wait`);
    const drain = setInterval(() => taken.shift()?.());
    await adding.finally(() => clearInterval(drain));
    assert.equal(added, 1000);
  });
});
