/**
 * `serve --open`: the service with its page in the browser, as a double click on the executable file for
 * Windows starts it.
 */
import { spawn } from "node:child_process";
import { COMMAND_NAME } from "../base/own-files.ts";
import type { Input } from "./flags.ts";
import type { ProcessIo } from "./process-io.ts";
import { serve } from "./serve.ts";
import { isService, loopbackUrl } from "./service-on-port.ts";
import type { SERVE_FLAGS } from "./setting-table.ts";
import { runUntilSignal } from "./signals.ts";

/** What opens a URL as the user has chosen, by platform; others have `xdg-open`. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [program: string, ...args: string[]]>>> = {
  win32: ["cmd", "/c", "start", ""], // the empty text is the title of a window
  darwin: ["open"],
};

/**
 * Opens the page once the service runs; if one runs on the port already, opens that one's page and ends.
 * Resolves to the exit code. Rejects as `runUntilSignal` does.
 */
export async function serveAndOpen(input: Input<typeof SERVE_FLAGS>, io: ProcessIo): Promise<number> {
  const { RELAY_HOST: host, RELAY_PORT: port } = input.values;
  if (await isService(host, port)) {
    openPage(loopbackUrl(host, port), "a service runs there already", io);
    return 0;
  }
  return runUntilSignal(io, async (stopped) => {
    const service = await serve(input, io, stopped);
    const url = loopbackUrl(host, Number(new URL(service.url).port));
    openPage(url, "to stop the service, close this window or press Ctrl-C", io);
    return service;
  });
}

/** `note`: a sentence for the user. Does not wait: some openers run as long as the browser does. */
function openPage(url: string, note: string, { stderr }: ProcessIo): void {
  stderr.write(`${COMMAND_NAME}: opening ${url} in the browser; ${note}\n`);
  const failed = () =>
    void stderr.write(`${COMMAND_NAME}: no browser was found: open ${url} in one yourself\n`);
  const [program, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  // In a group of its own: a Ctrl-C for the service must not end the browser.
  const opener = spawn(program, [...args, url], { stdio: "ignore", detached: true, windowsHide: true });
  opener.on("error", failed);
  opener.on("exit", (code) => code && failed());
  opener.unref();
}
