/**
 * The servers that benches compare, each in its own process on a free port: this service, bare Node, and
 * Nchan.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import type { SettingName } from "../../src/cli/setting-table.ts";
import { freePorts } from "../../test/chaos/service.ts";
import { untilServed } from "../../test/support/eventually.ts";

const STOP_MS = 3000;
/** The checkout whose service is measured; name another one to compare two versions. */
const PROJECT = process.env.BENCH_PROJECT ?? fileURLToPath(new URL("../..", import.meta.url));
/** The ways to start the service: the program, and its arguments before the command. */
export const PROGRAMS = {
  checkout: [process.execPath, join(PROJECT, "bin/livechat-relay.js")],
  package: [process.execPath, join(PROJECT, "dist/main.js")],
  file: [join(PROJECT, `tools/release/packages/livechat-relay-${process.platform}-${process.arch}`)],
} as const;
const NCHAN = "/usr/lib/nginx/modules/ngx_nchan_module.so";

export interface Served extends AsyncDisposable {
  /** The process whose CPU time and memory count. */
  pid: number;
  port: number;
}

/** Asks first: Node stores its compiled code only if the process ends by itself. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  const limit = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  await once(child, "exit");
  clearTimeout(limit);
}

export interface RelayServed extends Served {
  upstream: Simulator;
  /** The time from the start of its process until it was ready, in milliseconds. */
  readyMs: number;
}

/** Whether the service can be started in this way; if not, prints a line that says how to build it. */
export function isBuilt(from: keyof typeof PROGRAMS): boolean {
  const exists = existsSync(PROGRAMS[from].at(-1) ?? "");
  if (!exists) console.log(`The ${from} is not built (npm run release): it is not measured.`);
  return exists;
}

/** The service on a simulated upstream, which runs in this process. */
export async function serveRelay(
  settings: Partial<Record<SettingName, string>> = {},
  from: keyof typeof PROGRAMS = "checkout",
): Promise<RelayServed> {
  const port = Number(settings.RELAY_PORT ?? (await freePorts(1))[0]);
  const upstream = await startSimulator();
  const env = {
    ...process.env,
    RELAY_PORT: String(port),
    RELAY_HOST: "127.0.0.1",
    RELAY_STORE: "memory:",
    RELAY_LOG_LEVEL: "error",
    RELAY_GATE_SPACING_MS: "1",
    RELAY_UPSTREAM_URL: upstream.urls.main,
    RELAY_UPSTREAM_MUSIC_URL: upstream.urls.music,
    RELAY_UPSTREAM_MOBILE_URL: upstream.urls.mobile,
    ...settings,
  };
  const startedAt = performance.now();
  const [program, ...args] = PROGRAMS[from];
  const child = spawn(program, [...args, "serve"], {
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  await untilServed(`http://127.0.0.1:${port}/readyz`);
  return {
    pid: child.pid ?? 0,
    port,
    upstream,
    readyMs: performance.now() - startedAt,
    [Symbol.asyncDispose]: async () => {
      await stop(child);
      await upstream[Symbol.asyncDispose]();
    },
  };
}

/** An edge of a service; `upstream` is that of the service. */
export async function serveEdge({ port: origin, upstream }: RelayServed): Promise<RelayServed> {
  const [port = 0] = await freePorts(1);
  const env = {
    ...process.env,
    RELAY_PORT: String(port),
    RELAY_HOST: "127.0.0.1",
    RELAY_ORIGIN: `http://127.0.0.1:${origin}`,
    RELAY_LOG_LEVEL: "error",
  };
  const startedAt = performance.now();
  const child = spawn(process.execPath, [join(PROJECT, "bin/livechat-relay.js"), "edge"], {
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  await untilServed(`http://127.0.0.1:${port}/readyz`);
  const readyMs = performance.now() - startedAt;
  return { pid: child.pid ?? 0, port, upstream, readyMs, [Symbol.asyncDispose]: () => stop(child) };
}

interface BareServed extends Served {
  /** Writes this many bytes to each connection. */
  write(bytes: number): void;
}

/** Writes to sockets in a loop, with nothing else except a sync before each write if a file is named. */
export async function serveBare(synced: readonly string[] = []): Promise<BareServed> {
  const path = fileURLToPath(new URL("./bare-loop.ts", import.meta.url));
  const child = spawn(process.execPath, [path, ...synced], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const [port] = await once(child, "message");
  return {
    pid: child.pid ?? 0,
    port,
    write: (bytes) => void child.send(bytes),
    [Symbol.asyncDispose]: () => stop(child),
  };
}

interface NchanServed extends Served {
  /** Sends to the subscribers of `/sub`. */
  publish(text: string): Promise<void>;
}

/** nginx with Nchan, one worker; undefined if not installed (`apt-get install libnginx-mod-nchan`). */
export async function serveNchan(): Promise<NchanServed | undefined> {
  if (!existsSync(NCHAN)) return undefined;
  const [port = 0] = await freePorts(1);
  const folder = mkdtempSync(join(tmpdir(), "nchan-"));
  const conf = join(folder, "nginx.conf");
  writeFileSync(
    conf,
    `load_module ${NCHAN};
daemon off; master_process on; worker_processes 1; user root; worker_rlimit_nofile 20000;
pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 15000; }
http {
  access_log off; keepalive_requests 1000000; keepalive_timeout 3600s;
  client_body_temp_path ${folder}; proxy_temp_path ${folder}; fastcgi_temp_path ${folder};
  uwsgi_temp_path ${folder}; scgi_temp_path ${folder};
  nchan_shared_memory_size 256M; nchan_message_buffer_length 500; nchan_message_timeout 1h;
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location = /pub { nchan_publisher; nchan_channel_id room; }
    location = /sub { nchan_subscriber eventsource; nchan_channel_id room; nchan_eventsource_ping_interval 15;
                      nchan_subscriber_first_message newest; }
    location = /ready { return 204; }
  }
}
`,
  );
  const child = spawn("/usr/sbin/nginx", ["-c", conf, "-p", folder], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  await untilServed(`http://127.0.0.1:${port}/ready`);
  const [worker] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim().split(" ");
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    pid: Number(worker),
    port,
    publish: async (text) => {
      const asked = request({ agent, port, host: "127.0.0.1", path: "/pub", method: "POST" }).end(text);
      const [answer] = await once(asked, "response");
      answer.resume();
      await once(answer, "end");
    },
    [Symbol.asyncDispose]: async () => {
      agent.destroy();
      child.kill("SIGTERM");
      await once(child, "exit");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The version of its package. */
export function nchanVersion(): string {
  return execFileSync("dpkg-query", ["--show", "libnginx-mod-nchan"], { encoding: "utf8" }).trim();
}
