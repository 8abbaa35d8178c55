/**
 * Faults inside the service, preloaded from outside into each of its threads; the service has no code for
 * them. It wraps methods that the service calls. If the folder has an order for that place, it notes the
 * order in the journal and carries it out. It ends the service at once if a method to wrap does not exist.
 */
import { appendFileSync, existsSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isMainThread } from "node:worker_threads";
import { FOLDER_VARIABLE, type InjectedFault, JOURNAL } from "./fault-injector.ts";

/** How long the kernel may take for half a frame: a viewer that does not read must not save the service. */
const HALF_FRAME_LIMIT_MS = 500;
/** More than the bytes before a frame that Node's response writes. */
const CHUNK_LINE_BYTES = 32;

/** What runs in a method's place; `call` is the method itself. */
type Around = (call: (...args: unknown[]) => unknown, args: unknown[], self: unknown) => unknown;

/** A method that is wrapped, and where it is found: a module of Node, or a file of the project. */
interface Place {
  module: string;
  className: string;
  method: string;
  around: Around;
}

/** The orders in the folder for this process. */
class Orders {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Takes an order, if there is one. Returns its numbers. */
  take(name: InjectedFault): number[] | undefined {
    const path = join(this.#folder, name);
    if (!existsSync(path)) return undefined;
    try {
      const details = readFileSync(path, "utf8").split(" ").map(Number);
      unlinkSync(path);
      return details;
    } catch {
      return undefined; // taken back just now
    }
  }

  note(name: InjectedFault): void {
    appendFileSync(join(this.#folder, JOURNAL), `${name}\n`);
  }

  /** Carries an order out, if there is one. */
  obey(name: InjectedFault, act: (...details: number[]) => void): void {
    const details = this.take(name);
    if (!details) return;
    this.note(name);
    act(...details);
  }
}

/** Where the service's main thread can be hit. */
class MainThread {
  readonly #orders: Orders;
  #isDying = false;

  constructor(orders: Orders) {
    this.#orders = orders;
  }

  append: Around = (call, args) => {
    this.#orders.obey("stall-loop", sleep);
    if (isFilled(args[2])) this.#orders.obey("before-append", die);
    return call(...args);
  };

  added: Around = (call, args) => {
    if (isFilled(args[1])) this.#orders.obey("before-publish", die);
    return call(...args);
  };

  write: Around = (call, args, socket) => {
    if (this.#isDying) return true;
    const [bytes] = args;
    const isNext = socket instanceof Socket && socket.writableLength < CHUNK_LINE_BYTES;
    if (isNext && Buffer.isBuffer(bytes) && bytes.includes("event: message\n")) {
      this.#orders.obey("half-frame", () => {
        this.#isDying = true;
        setTimeout(die, HALF_FRAME_LIMIT_MS);
        call(bytes.subarray(0, halfOfLastFrame(bytes)), die);
      });
    }
    return this.#isDying || call(...args);
  };
}

/** Where the store's thread can be hit. */
class StoreThread {
  readonly #orders: Orders;
  /** Whether messages were appended in the present transaction. */
  #holdsMessages = false;
  #slow = { ms: 0, commitsLeft: 0 };

  constructor(orders: Orders) {
    this.#orders = orders;
  }

  append: Around = (call, args) => {
    const added = call(...args);
    if (isFilled(added)) this.#holdsMessages = true;
    return added;
  };

  exec: Around = (call, args) => {
    const isCommit = args[0] === "commit";
    if (!isCommit || !this.#holdsMessages) {
      if (isCommit || /^begin/.test(String(args[0]))) this.#holdsMessages = false;
      return call(...args);
    }
    this.#beforeCommit();
    call(...args);
    this.#holdsMessages = false;
    this.#orders.obey("after-commit", die);
    this.#orders.obey("thread-death-after-commit", () => process.exit());
    return undefined;
  };

  #beforeCommit(): void {
    this.#orders.obey("in-transaction", die);
    this.#orders.obey("thread-death-in-transaction", () => process.exit());
    const [ms = 0, commitsLeft = 0] = this.#orders.take("slow-commit") ?? [];
    if (commitsLeft > 0) this.#slow = { ms, commitsLeft };
    if (this.#slow.commitsLeft === 0) return;
    this.#slow.commitsLeft -= 1;
    this.#orders.note("slow-commit");
    sleep(this.#slow.ms);
  }
}

function isFilled(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}

/** An offset in the middle of the last of some frames; each ends with an empty line, and holds no other. */
function halfOfLastFrame(bytes: Buffer): number {
  return Math.floor((bytes.lastIndexOf("event: message\n") + bytes.length) / 2);
}

function die(): void {
  process.kill(process.pid, "SIGKILL");
}

/** Blocks the thread. */
function sleep(ms = 0): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function refuse(why: string): never {
  writeSync(process.stderr.fd, `fault injector: ${why}\n`);
  process.exit(70);
}

/** The prototype that holds the method, which must be there. */
async function holderOf({ module, className, method }: Place): Promise<object> {
  const path = module.startsWith("node:") ? module : pathToFileURL(join(process.cwd(), module)).href;
  const modules: Record<string, unknown> = await import(path).catch((error) => refuse(String(error)));
  const holder = modules[className];
  const prototype: unknown = typeof holder === "function" && holder.prototype;
  if (typeof prototype === "object" && prototype && typeof Reflect.get(prototype, method) === "function") {
    return prototype;
  }
  return refuse(`${module} has no ${className}.prototype.${method} to be wrapped`);
}

function wrap(prototype: object, { method, around }: Place): void {
  const original: unknown = Reflect.get(prototype, method);
  Reflect.set(prototype, method, function (this: unknown, ...args: unknown[]): unknown {
    const call = (...given: unknown[]) => Reflect.apply(original as () => unknown, this, given);
    return around(call, args, this);
  });
}

const orders = new Orders(process.env[FOLDER_VARIABLE] ?? refuse(`${FOLDER_VARIABLE} names no folder`));
const main = new MainThread(orders);
const store = new StoreThread(orders);

const IN_MAIN: readonly Place[] = [
  { module: "src/store/sqlite/sqlite.ts", className: "SqliteStore", method: "append", around: main.append },
  { module: "src/store/follow.ts", className: "Followers", method: "added", around: main.added },
  { module: "node:net", className: "Socket", method: "write", around: main.write },
];
const IN_STORE: readonly Place[] = [
  {
    module: "src/store/sqlite/sqlite-tables.ts",
    className: "RoomTables",
    method: "append",
    around: store.append,
  },
  { module: "node:sqlite", className: "DatabaseSync", method: "exec", around: store.exec },
];

for (const place of isMainThread ? IN_MAIN : IN_STORE) wrap(await holderOf(place), place);
// A refusal in a thread would go unnoticed, so missing methods are reported here.
if (isMainThread) for (const place of IN_STORE) await holderOf(place);
