/** A port or an address on which the service cannot listen: one line says why, and what to choose. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { it } from "node:test";
import { outcome } from "../support/command.ts";
import { temporaryFile } from "../support/store-subject.ts";

for (const command of ["serve", "demo"]) {
  it(`${command} on a port that is taken`, async (t) => {
    const taken = createServer().listen(0, "127.0.0.1");
    t.after(() => taken.close());
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const path = await temporaryFile(t);
    const { code, error } = await outcome([command, "--port", `${port}`, "--store", `sqlite:${path}`]);
    assert.equal(code, 1);
    if (command === "serve") assert.ok(!existsSync(path), "it has made a store");
    assert.match(
      error,
      /^livechat-relay: cannot listen on 127\.0\.0\.1 port \d+ \(EADDRINUSE\): another program uses this port\. Choose [^\n]+ --port or RELAY_PORT[^\n]+\n$/,
    );
  });
}

it("serve on a name without an address", async () => {
  const { code, error } = await outcome(["--host", "nowhere.invalid", "--port", "0", "--store", "memory:"]);
  assert.equal(code, 1);
  assert.match(
    error,
    /^livechat-relay: cannot listen on nowhere\.invalid port 0 \((?:ENOTFOUND|EAI_AGAIN)\): no address is known for this name\. Choose [^\n]+ --host or RELAY_HOST\n$/,
  );
});

it("serve on an address of another machine", async () => {
  const { code, error } = await outcome(["--host", "192.0.2.7", "--port", "0", "--store", "memory:"]);
  assert.equal(code, 1);
  assert.match(
    error,
    /^livechat-relay: cannot listen on 192\.0\.2\.7 port 0 \(EADDRNOTAVAIL\): this machine has no such address\. Choose [^\n]+ --host or RELAY_HOST\n$/,
  );
});
