/** What systemd hears of a service, by its own program and over a real datagram socket. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, it, type TestContext } from "node:test";
import { Command } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { without } from "../support/needs.ts";
import { temporaryFile } from "../support/store-subject.ts";

/** Prints each datagram on a line, but those by which the program waits until others were read. */
const RECEIVER = `import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("bound", flush=True)
while True:
  text = s.recv(4096).decode().strip()
  if text != "BARRIER=1": print(text, flush=True)`;

async function receiver(t: TestContext) {
  const path = `${await temporaryFile(t)}-socket`;
  const python = new Command(["-c", RECEIVER, path], { node: "python3", main: "-u", env: process.env });
  t.after(() => void python.child.kill());
  await python.printed(/bound/);
  return { path, python };
}

function served(t: TestContext, args: string[], env: NodeJS.ProcessEnv): Command {
  const service = new Command([...args, "--port", "0"], { env: { PATH: process.env.PATH, ...env } });
  t.after(() => void service.child.kill("SIGKILL"));
  return service;
}

const skip = without("systemd-notify", "python3");

describe("with NOTIFY_SOCKET", { skip }, () => {
  for (const [what, args] of [
    ["a service", ["serve", "--store", "memory:"]],
    ["an edge", ["edge", "--origin", "http://127.0.0.1:9"]],
  ] as const) {
    it(`${what} reports that it is ready, alive and stopping`, async (t) => {
      const { path, python } = await receiver(t);
      const service = served(t, [...args], { NOTIFY_SOCKET: path, WATCHDOG_USEC: "400000" });
      await python.printed(/READY=1\n/);
      assert.match(service.out, /listening on/);
      await python.printed(/READY=1\n(?:WATCHDOG=1\n){3}/);
      service.child.kill("SIGTERM");
      await python.printed(/WATCHDOG=1\nSTOPPING=1\n/);
      assert.deepEqual(await service.exited, [0, null]);
      assert.doesNotMatch(service.out, /systemd/);
    });
  }

  it("reports that it stops although the signal goes to all of its processes", async (t) => {
    const { path, python } = await receiver(t);
    const env = { PATH: process.env.PATH, NOTIFY_SOCKET: path };
    const service = new Command(["serve", "--store", "memory:", "--port", "0"], { env, detached: true });
    await python.printed(/READY=1\n/);
    process.kill(-(service.child.pid ?? Number.NaN), "SIGTERM");
    await python.printed(/STOPPING=1\n/);
    assert.deepEqual(await service.exited, [0, null]);
  });

  it("reports nothing to a watchdog that is not its own, or that is none", async (t) => {
    const { path, python } = await receiver(t);
    for (const watchdog of [{ WATCHDOG_USEC: "2000", WATCHDOG_PID: "1" }, {}]) {
      const service = served(t, ["serve", "--store", "memory:"], { NOTIFY_SOCKET: path, ...watchdog });
      await service.printed(/listening on/);
      service.child.kill("SIGTERM");
      assert.deepEqual(await service.exited, [0, null]);
    }
    await python.printed(/(?:READY=1\nSTOPPING=1\n){2}/);
  });

  it("leaves no process behind, even after a kill", async (t) => {
    const { path, python } = await receiver(t);
    const service = served(t, ["serve", "--store", "memory:"], { NOTIFY_SOCKET: path });
    await python.printed(/READY=1\n/);
    const { pid } = service.child;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
    assert.equal(children.length, 1);
    service.child.kill("SIGKILL");
    await eventually(false, () => existsSync(`/proc/${children[0]}`));
  });

  it("says once if systemd hears nothing, and serves", async (t) => {
    const service = served(t, ["serve", "--store", "memory:"], {
      NOTIFY_SOCKET: "/nowhere/socket",
      WATCHDOG_USEC: "400000",
    });
    await service.printed(/"level":40.*"why":"[^"]*No such file[^"]*".*systemd could not be notified/);
    const url = await service.printed(/listening on (http:\S+)"/);
    await eventually(200, async () => (await fetch(`${url}/readyz`)).status);
    service.child.kill("SIGTERM");
    assert.deepEqual(await service.exited, [0, null]);
    assert.equal(service.out.match(/systemd could not be notified/g)?.length, 1);
  });
});
