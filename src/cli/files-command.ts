/** `files`: writes the documents, the examples and the files of deploy/ that belong to this version. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileTrouble } from "../base/file-trouble.ts";
import { companions } from "./companions.ts";
import { type Flag, type Input, UsageError } from "./flags.ts";
import { print } from "./output.ts";
import type { ProcessIo } from "./process-io.ts";

/**
 * Resolves to the exit code, after it has listed each file that it wrote. Leaves files alone that are there
 * with the same content. Rejects with an error of one line: before it writes anything, if one has other
 * content and `force` is off, and if a file cannot be read or written.
 */
export async function writeFiles(
  { values, arguments: [folder = ""] }: Input<{ force: Flag<boolean> }>,
  { stdout }: ProcessIo,
): Promise<number> {
  const files = [...companions()].map(([path, read]) => ({ path: join(folder, path), bytes: read() }));
  const missing = files.filter(({ path }) => !existsSync(path));
  const changed = files.filter(({ path, bytes }) => existsSync(path) && !bytesOf(path).equals(bytes));
  const [first, ...others] = changed;
  if (first && !values.force)
    throw new UsageError(
      `${first.path}${others.length > 0 ? ` and ${others.length} more` : ""} would be replaced: name another folder, or add --force`,
    );
  for (const { path, bytes } of [...missing, ...changed])
    attempt(path, "written", () => {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, bytes, { flag: values.force ? "w" : "wx" });
    });
  const written = [...missing, ...changed].map(({ path }) => `${path}\n`).sort();
  await print(written.join(""), stdout);
  return 0;
}

function bytesOf(path: string): Buffer {
  return attempt(path, "read", () => readFileSync(path));
}

/** Throws an error of one line in place of the system's. */
function attempt<T>(path: string, what: "read" | "written", act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw new Error(`${path} ${fileTrouble(path, what, error)}`);
  }
}
