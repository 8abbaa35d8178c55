/**
 * Real proxies on loopback: Debian's tinyproxy, dante and microsocks, which ask for a user and a password.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { freePorts } from "../chaos/service.ts";
import { untilSucceeds } from "./eventually.ts";

export const USER = "wayfarer";
export const PASSWORD = "sesame";

interface ProxyProgram {
  scheme: "http" | "socks5";
  /** Writes what the program reads into the folder, and gives its arguments. */
  prepare(folder: string, port: number): Promise<string[]>;
  /** Whether it asks for a user. */
  asks: boolean;
}

async function written(folder: string, lines: readonly string[]): Promise<string> {
  const path = join(folder, "proxy.conf");
  await writeFile(path, `${lines.join("\n")}\n`);
  return path;
}

export const PROXIES: Record<string, ProxyProgram> = {
  tinyproxy: {
    scheme: "http",
    asks: true,
    prepare: async (folder, port) => [
      "-d",
      "-c",
      await written(folder, [
        `Port ${port}`,
        "Listen 127.0.0.1",
        "Timeout 60",
        "MaxClients 50",
        "Allow 127.0.0.1",
        `BasicAuth ${USER} ${PASSWORD}`,
      ]),
    ],
  },
  microsocks: {
    scheme: "socks5",
    asks: true,
    prepare: async (_folder, port) => ["-i", "127.0.0.1", "-p", `${port}`, "-u", USER, "-P", PASSWORD],
  },
  danted: {
    scheme: "socks5",
    asks: false, // it would know the users of the system alone
    prepare: async (folder, port) => [
      "-p",
      join(folder, "proxy.pid"),
      "-f",
      await written(folder, [
        "logoutput: /dev/null",
        `internal: 127.0.0.1 port = ${port}`,
        "external: lo",
        "clientmethod: none",
        "socksmethod: none",
        "client pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }",
        "socks pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }",
      ]),
    ],
  },
};

export class RealProxy implements AsyncDisposable {
  /** `RELAY_EGRESS` for it, with user and password if it asks for them. */
  readonly way: string;
  /** Its host and port. */
  readonly name: string;
  readonly #program: string;
  readonly #args: readonly string[];
  readonly #port: number;
  #child: ChildProcess | undefined;

  private constructor(program: string, args: readonly string[], port: number) {
    const { scheme, asks } = PROXIES[program] ?? { scheme: "http", asks: false };
    this.#program = program;
    this.#args = args;
    this.#port = port;
    this.name = `127.0.0.1:${port}`;
    this.way = `${scheme}://${asks ? `${USER}:${PASSWORD}@` : ""}${this.name}`;
  }

  static async start(program: string, folder: string): Promise<RealProxy> {
    const [port = 0] = await freePorts(1);
    const args = (await PROXIES[program]?.prepare(folder, port)) ?? [];
    const proxy = new RealProxy(program, args, port);
    await proxy.start();
    return proxy;
  }

  async start(): Promise<void> {
    this.#child = spawn(this.#program, this.#args, { stdio: "ignore", detached: true });
    await untilSucceeds(async () => {
      const socket = connect(this.#port, "127.0.0.1");
      await once(socket, "connect");
      socket.destroy();
    });
  }

  /** Ends it, its connections and its children included. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    process.kill(-child.pid, "SIGTERM");
    await once(child, "exit");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
