/**
 * The cost of viewers behind nginx with TLS and HTTP/2, as deploy/nginx.conf sets it up: the CPU time of
 * nginx and of the service for each frame of a batch, and the memory of nginx for each viewer. Each viewer
 * has a connection of its own.
 *
 *     npm run bench -- proxy [--viewers 2000] [--batches 40]
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:http2";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { freePorts } from "../../test/chaos/service.ts";
import { eventually } from "../../test/support/eventually.ts";
import { listens, startNginx } from "../../test/support/reverse-proxies.ts";
import { type Child, runChild, startChild } from "./child.ts";
import { MessageCount } from "./connections.ts";
import { processesOf, ROUNDS, report, residentBytes, settings, treeMs } from "./rounds.ts";
import { serveRelay } from "./servers.ts";
import { EVERY_MS, pathOf, watched } from "./watched.ts";

interface Viewers {
  url: string;
  path: string;
  count: number;
}

/** Resolves once each viewer has received something; the report is the number of frames with an id. */
async function view({ url, path, count }: Viewers): Promise<() => number> {
  let frames = 0;
  for (let viewer = 0; viewer < count; viewer++) {
    const session = connect(url, { rejectUnauthorized: false });
    const stream = session.request({ ":path": path, accept: "text/event-stream" });
    stream.on("close", () => {
      throw new Error(`viewer ${viewer} was disconnected`);
    });
    const messages = new MessageCount();
    const first = once(stream, "data");
    stream.on("data", (chunk: Buffer) => {
      frames += messages.add(chunk);
    });
    await first;
  }
  return () => frames;
}

async function bench(): Promise<void> {
  const { viewers, batches } = settings({ viewers: 2000, batches: 40 });
  const folder = mkdtempSync(join(tmpdir(), "proxy-"));
  const [port = 0] = await freePorts(1);
  await using relay = await serveRelay({ RELAY_POLL_MIN_MS: String(EVERY_MS), RELAY_TRUST_PROXY: "1" });
  using room = await watched(relay, 1);
  const { child, way } = await startNginx(folder, port, [`127.0.0.1:${relay.port}`]);
  const nginx = child.pid ?? 0;
  try {
    await listens(way);
    const viewing = { url: way.url, path: pathOf() };
    const first = await startChild<number>(import.meta.url, { ...viewing, count: viewers / 5 });
    const residentMb = () => processesOf(nginx).reduce((sum, pid) => sum + residentBytes(pid), 0) / 2 ** 20;
    const firstMb = residentMb();
    const others = await startChild<number>(import.meta.url, { ...viewing, count: viewers - viewers / 5 });
    const allMb = residentMb();
    const rows = [];
    for (let round = 0; round < ROUNDS; round++) {
      const before = [relay.pid, nginx].map(treeMs);
      await sayTo([first, others], viewers, batches, () => room.chat.say(1));
      const [serviceMs = 0, nginxMs = 0] = [relay.pid, nginx].map(
        (pid, index) => treeMs(pid) - (before[index] ?? 0),
      );
      const frames = viewers * batches;
      rows.push({
        viewers,
        serviceUsPerFrame: (serviceMs * 1000) / frames,
        nginxUsPerFrame: (nginxMs * 1000) / frames,
        nginxToService: nginxMs / serviceMs,
        nginxMb: allMb,
        nginxKbPerViewer: ((allMb - firstMb) * 1024) / (viewers - viewers / 5),
        nginxMbAfter: residentMb(),
        load: loadavg()[0] ?? 0,
      });
    }
    first[Symbol.dispose]();
    others[Symbol.dispose]();
    report("proxy", rows);
  } finally {
    const gone = once(child, "exit");
    child.kill("SIGTERM");
    await gone;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Resolves once all viewers have each of the messages, which come in a batch each. */
async function sayTo(crowds: readonly Child<number>[], viewers: number, batches: number, say: () => void) {
  const frames = async () => {
    const seen = await Promise.all(crowds.map((crowd) => crowd.report()));
    return seen.reduce((sum, each) => sum + each, 0);
  };
  const before = await frames();
  for (let batch = 1; batch <= batches; batch++) {
    say();
    await pause(EVERY_MS);
    await eventually(true, async () => (await frames()) - before >= batch * viewers);
  }
}

if (process.send) await runChild(view);
else await bench();
