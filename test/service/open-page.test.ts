/** `serve --open`, and what a double click on the executable file for Windows starts. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { Command, ROOT } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/store-subject.ts";

const STOP = /opening (\S+) in the browser; to stop the service, close this window or press Ctrl-C\n/;
const LISTENING = /listening on http:\/\/\S+:(\d+)"/;
/** The start is one on Windows, in a window. */
const ON_WINDOWS = `Object.defineProperty(process, "platform", { value: "win32" }); process.stdout.isTTY = true;`;

/** Why some tests do not run on the executable file. */
const OF_CHECKOUT = process.env.RELAY_TEST_FILE !== undefined && "that file takes no NODE_OPTIONS";

/** Programs that note the arguments of each call, one a line, in `calls`. */
async function openersFor(t: TestContext, script = 'printf "%s|" "$@"; echo') {
  const folder = await temporaryFolder(t);
  const [bin, calls] = [join(folder, "bin"), join(folder, "calls")];
  await mkdir(bin);
  for (const name of ["xdg-open", "cmd"]) {
    await writeFile(join(bin, name), `#!/bin/sh\nexec >> '${calls}'\n${script}\n`);
    await chmod(join(bin, name), 0o755);
  }
  const noted = async () => (existsSync(calls) ? await readFile(calls, "utf8") : "");
  return { bin, noted };
}

/** Starts the command line; it is killed when the test is over. */
function start(t: TestContext, args: readonly string[], env: NodeJS.ProcessEnv, main?: string): Command {
  const command = new Command(args, { env: { RELAY_STORE: "memory:", ...env }, ...(main && { main }) });
  t.after(() => command.child.kill("SIGKILL"));
  return command;
}

async function stop({ child, exited }: Command): Promise<void> {
  child.kill("SIGTERM");
  assert.deepEqual(await exited, [0, null]);
}

describe("serve --open", () => {
  it("opens the page once the service runs, and says how to stop it", async (t) => {
    const { bin, noted } = await openersFor(t);
    const serve = start(t, ["serve", "--open", "--port", "0"], { PATH: bin });
    const url = await serve.printed(STOP);
    await eventually(`${url}|\n`, noted);
    assert.match(await (await fetch(url)).text(), /^<!doctype html>/);
    await stop(serve);
  });

  it("opens the page of the service that runs on the port already, and ends", async (t) => {
    const { bin, noted } = await openersFor(t);
    const running = start(t, ["serve", "--port", "0"], {});
    const port = await running.printed(LISTENING);
    const second = start(t, ["serve", "--open", "--port", port], { PATH: bin });
    assert.deepEqual(await second.exited, [0, null]);
    await eventually(`http://127.0.0.1:${port}/|\n`, noted);
    assert.match(second.error, /; a service runs there already\n$/);
    await stop(running);
  });

  it("opens a service that listens on all addresses at the machine's own", async (t) => {
    const { bin, noted } = await openersFor(t);
    const serve = start(t, ["serve", "--open", "--port", "0", "--host", "0.0.0.0"], { PATH: bin });
    const port = await serve.printed(LISTENING);
    await eventually(`http://127.0.0.1:${port}/|\n`, noted);
    await stop(serve);
  });

  it("says so if there is no browser, and serves", async (t) => {
    const { bin } = await openersFor(t, "exit 3");
    for (const PATH of [bin, join(bin, "none")]) {
      const serve = start(t, ["serve", "--open", "--port", "0"], { PATH });
      const url = await serve.printed(/no browser was found: open (\S+) in one yourself\n/);
      assert.equal((await fetch(url)).status, 200);
      await stop(serve);
    }
  });
});

describe("a double click on the executable file for Windows", { skip: OF_CHECKOUT }, () => {
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(ON_WINDOWS)}`;
  const click = (t: TestContext, env: NodeJS.ProcessEnv, args: readonly string[] = []) =>
    start(t, args, { NODE_OPTIONS, ...env }, join(ROOT, "src/cli/one-file.ts"));

  it("starts the service and opens its page", async (t) => {
    const { bin, noted } = await openersFor(t);
    const clicked = click(t, { PATH: bin, RELAY_PORT: "0" });
    const url = await clicked.printed(STOP);
    await eventually(`/c|start||${url}|\n`, noted);
    assert.equal((await fetch(url)).status, 200);
    clicked.child.kill("SIGINT");
    assert.deepEqual(await clicked.exited, [0, null]);
    assert.equal(await noted(), `/c|start||${url}|\n`);
  });

  it("keeps the window until a failure was read", async (t) => {
    const { bin, noted } = await openersFor(t);
    const clicked = click(t, { PATH: bin, RELAY_PORT: "x" });
    assert.deepEqual(await clicked.exited, [2, null]);
    assert.match(clicked.error, /: RELAY_PORT: must be a whole number/);
    assert.equal(await noted(), "/c|pause|\n");
  });

  it("differs from a start with arguments", async (t) => {
    const { bin, noted } = await openersFor(t);
    const serve = click(t, { PATH: bin }, ["serve", "--port", "0"]);
    await serve.printed(/listening on/);
    serve.child.kill("SIGINT");
    assert.deepEqual(await serve.exited, [0, null]);
    assert.equal(await noted(), "");
  });
});
