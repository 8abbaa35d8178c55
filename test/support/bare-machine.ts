/**
 * A machine on which there is the one executable file and nothing else: without Node.js, shell, `PATH`, home,
 * `/tmp`, `/proc` and `/dev`. It is a root folder in a name space of mounts, so only root can make one; the
 * network is that of the tests.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { copyFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { Command } from "./command.ts";
import { without } from "./needs.ts";
import { temporaryFolder } from "./store-subject.ts";

/** Why there can be no such machine here, or false. */
export const NO_BARE_MACHINE =
  without("unshare") ||
  (spawnSync("unshare", ["--mount", "true"]).status !== 0 && "unshare may not make a name space");

/** A folder with a space and an umlaut, in which a symbolic link leads to the file. */
const FOLDER = "Live-Übertragung am Abend";
const LINK = "./relay läuft";

/** Mounts the file and the folder's file system, and runs the file in it. */
const SCRIPT = `
  mount --bind "$1" "$2/livechat-relay"
  [ -z "$4" ] || mount -t tmpfs -o "$4" none "$2$3"
  root=$2 folder=$3 program=$5 unshare=$(command -v unshare)
  shift 5
  export PATH=
  exec "$unshare" --root="$root" --wd="$folder" "$program" "$@"`;

/** The shared libraries that the system's loader finds for a file, with the loader itself. */
export function librariesOf(file: string): string[] {
  return execFileSync("ldd", [file], { encoding: "utf8" }).match(/\/\S+(?= \()/g) ?? [];
}

export class BareMachine {
  /** The folder in which the file runs, as it is called outside. */
  readonly folder: string;
  readonly #t: TestContext;
  readonly #file: string;
  readonly #root: string;

  private constructor(t: TestContext, file: string, root: string) {
    this.#t = t;
    this.#file = file;
    this.#root = root;
    this.folder = join(root, FOLDER);
  }

  /** With these libraries only. */
  static async make(t: TestContext, file: string, libraries = librariesOf(file)): Promise<BareMachine> {
    const root = await temporaryFolder(t);
    for (const library of libraries) {
      await mkdir(join(root, dirname(library)), { recursive: true });
      await copyFile(library, join(root, library));
    }
    await writeFile(join(root, "livechat-relay"), "");
    for (const folder of [FOLDER, "home"]) await mkdir(join(root, folder));
    await symlink("/livechat-relay", join(root, FOLDER, LINK));
    return new BareMachine(t, file, root);
  }

  /**
   * Runs the file with these arguments, in a process that is killed when the test is over. With `disk`,
   * options of a tmpfs, its folder is on a disk of its own.
   */
  start(args: readonly string[], { env = {}, disk = "" } = {}): Command {
    const [program, folder] = disk ? ["/livechat-relay", "/home"] : [LINK, `/${FOLDER}`];
    const words = ["/bin/sh", "-euc", SCRIPT, "sh", this.#file, this.#root, folder, disk, program, ...args];
    const { PATH } = process.env;
    const command = new Command(words, { node: "unshare", main: "--mount", env: { ...env, PATH } });
    this.#t.after(() => command.child.kill("SIGKILL"));
    return command;
  }

  /** Runs it to its end. */
  async outcome(args: readonly string[], options: { env?: NodeJS.ProcessEnv; disk?: string } = {}) {
    const command = this.start(args, options);
    const [code] = await command.exited;
    return { code, out: command.out, error: command.error };
  }
}
