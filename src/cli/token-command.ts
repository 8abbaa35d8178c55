/** `token`: signs a JSON Web Token that the service accepts, so that a first one needs no other tool. */
import { createPrivateKey, createPublicKey, createSecretKey, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { SignJWT } from "jose";
import { systemClock } from "../base/clock.ts";
import { fileTrouble } from "../base/file-trouble.ts";
import { verifying } from "../http/access/token-key.ts";
import { type Input, UsageError } from "./flags.ts";
import { print } from "./output.ts";
import type { ProcessIo } from "./process-io.ts";
import type { TOKEN_FLAGS } from "./token-flags.ts";

type Values = Input<typeof TOKEN_FLAGS>["values"];

/** Resolves to the exit code. Rejects with `UsageError`, and as `print`. */
export async function printToken(
  { values, given }: Input<typeof TOKEN_FLAGS>,
  { stdout }: ProcessIo,
): Promise<number> {
  const { right, for: lastsMs, sub, viewers, RELAY_TOKEN_AUDIENCE: audience } = values;
  if (right.length === 0)
    throw new UsageError(
      `--right ${given.has("right") ? "names no right" : "is missing"}: what the token opens, such as watch:@name,rooms; see --help`,
    );
  if (viewers !== undefined && sub === "")
    throw new UsageError("--viewers needs --sub, whose connections it counts; see --help");
  const { key, alg } = signingKey(values);
  const now = Math.floor(systemClock.now() / 1000);
  const claims = {
    relay: right,
    iat: now,
    exp: now + Math.ceil(lastsMs / 1000),
    ...(sub && { sub }),
    ...(viewers !== undefined && { viewers }),
    ...(audience && { aud: audience }),
  };
  const token = await new SignJWT(claims).setProtectedHeader({ alg, typ: "JWT" }).sign(key);
  await print(`${token}\n`, stdout);
  return 0;
}

function signingKey(values: Values): { key: KeyObject; alg: string } {
  const { "key-file": path, RELAY_TOKEN_KEY: shared } = values;
  if (path !== "") return privateKey(path);
  if (shared?.kind === "secret") return { key: createSecretKey(shared.secret, "utf8"), alg: "HS256" };
  throw new UsageError(
    shared
      ? "RELAY_TOKEN_KEY names a public key or a URL, which cannot sign: name the file of the private key with --key-file"
      : "RELAY_TOKEN_KEY is missing: set it to the service's secret of at least 32 bytes, or name the file of a private key with --key-file",
  );
}

/** The key, and the algorithm that follows from it. Throws `UsageError`, which shows nothing of the file. */
function privateKey(path: string): { key: KeyObject; alg: string } {
  let pem: string;
  try {
    pem = readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`--key-file: ${path} ${fileTrouble(path, "read", error)}`);
  }
  try {
    const key = createPrivateKey(pem);
    const [alg = ""] = verifying(createPublicKey(key)).algorithms;
    return { key, alg };
  } catch {
    throw new UsageError(
      `--key-file: ${path} must contain a private key in PEM, without a password, for EdDSA (Ed25519), ES256 (P-256) or RS256 (2048 bits and more)`,
    );
  }
}
