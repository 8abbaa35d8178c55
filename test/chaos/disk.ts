/**
 * The store's disk under the driver's control: a small file system of its own if mounting is allowed. It can
 * be filled, sealed, locked and written to by a stranger. It is always unmounted, even if the driver fails.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { atExit } from "./at-exit.ts";
import type { FaultInjector } from "./fault-injector.ts";

/** How long a stranger waits for its turn at a file that the service is writing. */
const PATIENCE_MS = 5000;

/** A room's row in the file. */
interface RoomRow {
  epoch: number;
  head: number;
}

export class Disk implements Disposable {
  /** `tmpfs`: a file system of its own. `folder`: a plain folder, as mounting was refused. */
  readonly kind: "tmpfs" | "folder";
  /** Whether `seal` works here. */
  readonly canSeal: boolean;
  readonly #folder = mkdtempSync(join(tmpdir(), "relay-disk-"));
  /** The path of the service's store. */
  readonly path = join(this.#folder, "relay.db");
  readonly #filler = join(this.#folder, "filler");
  #stranger: DatabaseSync | undefined;
  readonly #cancelExit: () => void;

  /** A disk of this size; a plain `folder` ignores the size. */
  constructor(sizeBytes: number) {
    this.kind = runs("mount", "-t", "tmpfs", "-o", `size=${sizeBytes}`, "relay-chaos", this.#folder)
      ? "tmpfs"
      : "folder";
    this.#cancelExit = atExit(() => this.close());
    const probe = join(this.#folder, "probe");
    writeFileSync(probe, "");
    this.canSeal = runs("chattr", "+i", probe) && runs("chattr", "-i", probe);
    rmSync(probe);
  }

  /** For RELAY_STORE. */
  get storeUrl(): string {
    return `sqlite:${this.path}`;
  }

  /** Whether `fill` works here. */
  get canFill(): boolean {
    return this.kind === "tmpfs";
  }

  /** Takes all free space but for `spareBytes`; call it again for space freed since. */
  fill(spareBytes = 0): void {
    assert.ok(this.canFill, "a plain folder is not filled: it shares its disk with others");
    const filler = openSync(this.#filler, "a");
    const block = Buffer.alloc(64 * 1024);
    try {
      for (;;) writeSync(filler, block);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
    } finally {
      ftruncateSync(filler, Math.max(0, fstatSync(filler).size - spareBytes));
      closeSync(filler);
    }
  }

  free(): void {
    rmSync(this.#filler, { force: true });
  }

  /**
   * Makes the files unwritable. A thread that has them open would continue, so the store's thread is ordered
   * to die with its next messages; the next thread finds the files sealed.
   */
  seal(injector: FaultInjector): void {
    assert.ok(this.canSeal, "this file system knows no immutable files");
    assert.ok(runs("chattr", "+i", ...this.#files()), "the files cannot be made immutable");
    injector.arm("thread-death-in-transaction");
  }

  unseal(): void {
    if (this.canSeal) runs("chattr", "-i", ...this.#files());
  }

  /** Keeps everybody else from committing, until `unlock`. */
  lock(): void {
    assert.ok(!this.#stranger, "locked already");
    this.#stranger = new DatabaseSync(this.path, { timeout: PATIENCE_MS });
    this.#stranger.exec("begin exclusive");
  }

  unlock(): void {
    this.#stranger?.close();
    this.#stranger = undefined;
  }

  /**
   * Takes a room over as a second service would: its owner is refused from now on. The store is locked until
   * `held` resolves, so that the service's further statements are answered after the refusal.
   */
  async claim(videoId: string, held: Promise<void>): Promise<RoomRow> {
    using database = new DatabaseSync(this.path, { timeout: PATIENCE_MS });
    database.exec("begin immediate");
    const taken = database
      .prepare("update room set epoch = epoch + 1 where video_id = ? returning epoch, head")
      .get(videoId);
    assert.ok(taken, `${videoId} is not in the store`);
    await held;
    database.exec("commit");
    return { epoch: Number(taken.epoch), head: Number(taken.head) };
  }

  /** A read-only view of the committed row. */
  room(videoId: string): RoomRow | undefined {
    using database = new DatabaseSync(this.path, { readOnly: true, timeout: PATIENCE_MS });
    const row = database.prepare("select epoch, head from room where video_id = ?").get(videoId);
    return row && { epoch: Number(row.epoch), head: Number(row.head) };
  }

  /** Frees everything, with the stored data. The service should have ended. */
  close(): void {
    this.#cancelExit();
    this.unlock();
    this.unseal();
    if (this.kind === "tmpfs") runs("umount", "-l", this.#folder);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #files(): string[] {
    return ["", "-wal", "-shm"].map((suffix) => this.path + suffix).filter((path) => existsSync(path));
  }
}

/** Whether a program succeeded. */
function runs(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
