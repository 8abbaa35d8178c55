/**
 * The token that a command sends to its service: that of RELAY_TOKEN, or of a file. The file is read again
 * before each request, so that a `watch` can outlive its first token. No error shows a token.
 */
import { readFile } from "node:fs/promises";
import { fileTrouble } from "../../src/base/file-trouble.ts";
import { UsageError } from "../../src/cli/flags.ts";

type Token = string | (() => Promise<string>) | undefined;

/** The settings and flags that name a service and its token. */
export interface ServerValues {
  RELAY_URL: string;
  RELAY_TOKEN: string | undefined;
  "token-file": string | undefined;
}

/** What a request needs to reach a service and be served. */
export interface Access {
  server: string;
  token: Token;
}

/** What a header may contain, without spaces. */
const TOKEN = /^[\x21-\x7e]+$/;

/** Throws an error that describes valid texts. */
export function tokenText(text: string): string {
  if (!TOKEN.test(text)) throw new Error("one line of printable ASCII characters without spaces");
  return text;
}

/** Rejects with `UsageError` if the file cannot be used now. */
export async function accessOf(values: ServerValues): Promise<Access> {
  const { RELAY_URL: server, RELAY_TOKEN: token, "token-file": path } = values;
  if (path === undefined) return { server, token };
  const read = async () => tokenText((await readFile(path, "utf8")).trim());
  await read().catch((error) => {
    if ("code" in error) throw new UsageError(`--token-file: ${path} ${fileTrouble(path, "read", error)}`);
    throw new UsageError(`--token-file: ${path} must contain a token: ${error.message}`);
  });
  return { server, token: read };
}

/** Empty without a token. */
export async function authorization(token: Token): Promise<Record<string, string>> {
  const text = typeof token === "function" ? await token() : token;
  return text === undefined ? {} : { authorization: `Bearer ${text}` };
}
