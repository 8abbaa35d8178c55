/**
 * The cost of access: the CPU time of a request that is refused, in each way in which one can be, and of one
 * that is allowed, without a token and with one of each kind of key. Beside them, in this process, the check
 * of a token's signature alone by Node's own function, and of the token alone by jose.
 *
 *     npm run bench -- access [--requests 2000]
 */
import { generateKeyPairSync, type KeyObject, verify } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jwtVerify, SignJWT } from "jose";
import { verifying } from "../../src/http/access/token-key.ts";
import { cpuMs, inRounds, median, report, settings } from "./rounds.ts";
import { type RelayServed, serveRelay } from "./servers.ts";

const { requests } = settings({ requests: 2000 });
const CONNECTIONS = 20;
const SECRET = "a secret for a bench, of thirty-two bytes and more";
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
const folder = mkdtempSync(join(tmpdir(), "relay-bench-"));

const keys = {
  EdDSA: generateKeyPairSync("ed25519"),
  ES256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  RS256: generateKeyPairSync("rsa", { modulusLength: 2048 }),
};

function token(alg: string, key: KeyObject | Uint8Array, relay: string[]): Promise<string> {
  const exp = Math.floor(Date.now() / 1000) + 3600;
  return new SignJWT({ exp, relay, sub: "somebody" }).setProtectedHeader({ alg }).sign(key);
}

/** Milliseconds of CPU time of the service for each request of a list of rooms, which is empty. */
async function costOf(relay: RelayServed, authorization: string | undefined): Promise<number> {
  const ask = () =>
    new Promise<void>((resolve, reject) => {
      const headers = authorization === undefined ? {} : { authorization: `Bearer ${authorization}` };
      get({ port: relay.port, path: "/v1/rooms", agent, headers }, (response) => {
        response.resume().on("end", resolve);
      }).on("error", reject);
    });
  const before = cpuMs(relay.pid);
  for (let sent = 0; sent < requests; sent += CONNECTIONS) {
    await Promise.all(Array.from({ length: CONNECTIONS }, ask));
  }
  return (cpuMs(relay.pid) - before) / requests;
}

/** Milliseconds of CPU time for each call in this process. */
async function costOfEach(check: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  for (let checked = 0; checked < requests; checked += CONNECTIONS) {
    await Promise.all(Array.from({ length: CONNECTIONS }, check));
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / requests;
}

/** Checks a token's signature. */
function signatureOf(alg: string, key: KeyObject, signed: string): () => void {
  const [header, claims, signature = ""] = signed.split(".");
  const data = Buffer.from(`${header}.${claims}`);
  const bytes = Buffer.from(signature, "base64url");
  const hash = alg === "EdDSA" ? null : "sha256";
  return () => {
    if (!verify(hash, data, { key, dsaEncoding: "ieee-p1363" }, bytes))
      throw new Error(`a signature of ${alg} is wrong`);
  };
}

await using stack = new AsyncDisposableStack();
stack.defer(() => {
  agent.destroy();
  rmSync(folder, { recursive: true });
});
const served = async (RELAY_TOKEN_KEY: string, RELAY_PUBLIC = "none") =>
  stack.use(await serveRelay({ RELAY_PUBLIC, ...(RELAY_TOKEN_KEY && { RELAY_TOKEN_KEY }) }));

const open = await served("", "rooms");
const bySecret = await served(SECRET);
const secret = new TextEncoder().encode(SECRET);
const good = await token("HS256", secret, ["rooms"]);
const contestants: Record<string, () => Promise<number>> = {
  "public, without a token": () => costOf(open, undefined),
  "refused: no token": () => costOf(bySecret, undefined),
  "refused: no JSON Web Token": () => costOf(bySecret, "nonsense"),
  "refused: too long": () => costOf(bySecret, "x".repeat(5000)),
  "refused: another secret": async () =>
    costOf(bySecret, `${good.slice(0, -4)}${good.endsWith("AAAA") ? "BBBB" : "AAAA"}`),
  "refused: no right": async () => costOf(bySecret, await token("HS256", secret, ["probe"])),
  "allowed: HS256": () => costOf(bySecret, good),
};
for (const [alg, { publicKey, privateKey }] of Object.entries(keys)) {
  const path = join(folder, `${alg}.pem`);
  writeFileSync(path, publicKey.export({ type: "spki", format: "pem" }));
  const relay = await served(path);
  const mine = await token(alg, privateKey, ["rooms"]);
  contestants[`allowed: ${alg}`] = () => costOf(relay, mine);
  const { key } = verifying(publicKey);
  contestants[`the signature alone: ${alg}`] = () => costOfEach(signatureOf(alg, publicKey, mine));
  contestants[`the token alone, by jose: ${alg}`] = () => costOfEach(() => jwtVerify(mine, key));
  contestants[`refused: ${alg} of other claims`] = () => {
    const [header, , signature] = mine.split(".");
    const claims = Buffer.from('{"exp":9999999999,"relay":["rooms"]}').toString("base64url");
    return costOf(relay, `${header}.${claims}.${signature}`);
  };
}
for (const warm of Object.values(contestants)) await warm();
const measured = await inRounds(contestants);
const base = median(measured["public, without a token"] ?? []);
report(
  "access",
  Object.entries(measured).map(([request, costs]) => ({
    request,
    "CPU ms": median(costs),
    "more than public, ms": median(costs) - base,
  })),
);
