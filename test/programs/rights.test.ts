/** Commands and stores without a right: to a port, to a file, to a file system that is only for reading. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { it, test } from "node:test";
import { outcomeOfProcess, ROOT } from "../support/command.ts";
import { PATIENCE_MS } from "../support/eventually.ts";
import { without } from "../support/needs.ts";
import { StoreProcess } from "../support/store-process.ts";
import { filledFile, ROOM, temporaryFolder } from "../support/store-subject.ts";

const LAUNCHER = join(ROOT, "bin/livechat-relay.js");

it("serve on a port that only root may use", async (t) => {
  const [setpriv, unbound] = ["setpriv", "--bounding-set=-net_bind_service"];
  if (spawnSync(setpriv, [unbound, "true"]).status !== 0) return t.skip("rights cannot be dropped here");
  const serve = [process.execPath, LAUNCHER, "serve", "--port", "1", "--store", "memory:"];
  const { code, error } = await outcomeOfProcess(serve, { node: setpriv, main: unbound });
  assert.equal(code, 1);
  assert.match(
    error,
    /^livechat-relay: cannot listen on 127\.0\.0\.1 port 1 \(EACCES\): ports below 1024 need root\. Choose [^\n]+ --port or RELAY_PORT\n$/,
  );
});

/** Begins a process that may not write everything, as root may. */
const ORDINARY =
  process.getuid?.() === 0
    ? ["setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"]
    : [];

test("a file or a folder without write permission is refused", {
  skip: ORDINARY.length > 0 && without("setpriv"),
  timeout: PATIENCE_MS,
}, async (t) => {
  const path = await filledFile(t);
  await chmod(path, 0o444);
  const folder = join(dirname(path), "sealed");
  await mkdir(folder, { mode: 0o555 });
  const unreadable = await filledFile(t);
  await chmod(unreadable, 0o000);
  const locked = await filledFile(t);
  await chmod(`${locked}-lock`, 0o000);
  const owner = (path: string) =>
    new RegExp(`${path} may not be read and written by this user: .*chown --reference=\\S+ ${path}\\)`);
  const rows: [path: string, says: RegExp][] = [
    [path, owner(path)],
    [unreadable, owner(unreadable)],
    [locked, new RegExp(`^lock ${locked}-lock may not be read and written by this user: `)],
    [join(folder, "relay.db"), /cannot be opened: choose a file in a folder/],
    [join(folder, "new", "relay.db"), /folder cannot be made/],
  ];
  await Promise.all(
    rows.map(async ([path, says]) => {
      const opening = new StoreProcess(t, path, [ROOM], ORDINARY);
      assert.match((await opening.line("refused")) ?? "it was opened", says);
    }),
  );
});

test("a file that this user may not see is not called missing", {
  skip: ORDINARY.length > 0 && without("setpriv"),
}, async (t) => {
  const path = await filledFile(t);
  const folder = dirname(path);
  await chmod(folder, 0o000);
  const target = join(await temporaryFolder(t), "copy.db");
  const [node = process.execPath, ...first] = [...ORDINARY, process.execPath];
  const [main = LAUNCHER, ...rest] = [...first, LAUNCHER];
  const commands = [
    ["backup", target, "--store", `sqlite:${path}`],
    ["migrate-store", `sqlite:${path}`, `sqlite:${target}`],
    ["serve", "--port", "0", "--store", `sqlite:${path}`, "--restored", "on"],
  ];
  for (const args of commands) {
    const { code, error } = await outcomeOfProcess([...rest, ...args], { node, main });
    assert.equal(code, 1);
    assert.match(error, /^livechat-relay: [^\n]*cannot be read: this user may not do that: [^\n]+\n$/);
  }
});

test("a backup into a folder that this user may not see says what to do", {
  skip: ORDINARY.length > 0 && without("setpriv"),
}, async (t) => {
  const path = await filledFile(t);
  const folder = await temporaryFolder(t);
  await chmod(folder, 0o000);
  const args = [LAUNCHER, "backup", join(folder, "copy.db"), "--store", `sqlite:${path}`];
  const [node = "", main = "", ...rest] = [...ORDINARY, process.execPath, ...args];
  const { code, error } = await outcomeOfProcess(rest, { node, main });
  assert.equal(code, 1);
  assert.match(
    error,
    /^livechat-relay: the backup [^\n]* cannot be written: this user may not do that: [^\n]+\n$/,
  );
});

test("a store on a read-only file system is refused with what to do, new or not", async (t) => {
  const path = await filledFile(t);
  const folder = dirname(path);
  // The mount is seen only by the process that it begins, and ends with it.
  const script = 'mount --bind -o ro "$0" "$0" && exec "$@"';
  const isolated = ["unshare", "--mount", "sh", "-c", script, folder];
  if (spawnSync("unshare", [...isolated.slice(1), "true"]).status !== 0)
    return t.skip("mounting was refused");
  for (const file of [path, join(folder, "other.db"), join(folder, "new", "relay.db")]) {
    const said = await new StoreProcess(t, file, [ROOM], isolated).line("refused");
    assert.match(
      said ?? "it was opened",
      /is on a read-only file system: name another file, or let the service write there \(under systemd, by ReadWritePaths\)/,
    );
  }
});
