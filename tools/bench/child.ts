/**
 * A bench's clients in a process of their own, so that their work costs neither the server nor its upstream a
 * turn. One file holds both sides: the function that starts the process, and the program that it runs.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** The clients, as the bench sees them. */
export interface Child<Report> extends Disposable {
  /** What they have done so far. Rejects if they have failed. */
  report(): Promise<Report>;
}

/** Starts the program of a file (its `import.meta.url`). Resolves once its clients have begun. */
export async function startChild<Report>(file: string, options: object): Promise<Child<Report>> {
  const child = fork(fileURLToPath(file), [JSON.stringify(options)]);
  const died = once(child, "exit").then(() => Promise.reject(new Error("the clients of the bench failed")));
  died.catch(() => {});
  const message = async () => (await Promise.race([once(child, "message"), died]))[0];
  await message();
  return {
    report: () => {
      child.send("report");
      return message();
    },
    [Symbol.dispose]: () => void child.kill(),
  };
}

/** The program: `begin` resolves once the clients have begun, to the function that reports. */
export async function runChild<Options, Report>(
  begin: (options: Options) => Promise<() => Report | Promise<Report>>,
): Promise<void> {
  const report = await begin(JSON.parse(process.argv[2] ?? ""));
  process.on("message", async () => process.send?.(await report()));
  process.on("disconnect", () => process.exit());
  process.send?.("ready");
}
