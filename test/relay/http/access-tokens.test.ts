/** What the service makes of tokens: forged, expired and misshapen ones, and of those that it accepts. */
import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { Writable } from "node:stream";
import { after, before, describe, it } from "node:test";
import { UnsecuredJWT } from "jose";
import { createLogger } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { ask } from "../../support/api.ts";
import { startRelay, type TestRelay, type TestRelayOptions } from "../../support/relay.ts";
import { temporaryFile } from "../../support/store-subject.ts";
import { bearer, SECRET, signed } from "../../support/tokens.ts";

const VIDEO = "tokens-1234";
const OTHER_SECRET = new TextEncoder().encode("another secret of at least thirty-two bytes");
const EVERYTHING = ["watch", "rooms", "probe", "poll", "record"];
const now = () => Math.floor(Date.now() / 1000);

/** Everything that a relay has logged, at the lowest level. */
function loggedTelemetry() {
  const lines: string[] = [];
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  return { telemetry: new Telemetry(createLogger("trace", stdout)), logged: () => lines.join("") };
}

async function relayWith(settings: TestRelayOptions["settings"], telemetry?: Telemetry): Promise<TestRelay> {
  const given = { RELAY_PUBLIC: "none", RELAY_TOKEN_KEY: SECRET, ...settings };
  const relay = await startRelay({ settings: given, ...(telemetry && { telemetry }) });
  relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(3);
  return relay;
}

const status = async ({ url }: TestRelay, token: string) => (await refusal(url, token)).status;

async function refusal(url: string, token: string) {
  const response = await fetch(`${url}/v1/rooms`, { headers: bearer(token) });
  const body = (await response.json()) as { code?: string; message?: string };
  return { status: response.status, challenge: response.headers.get("www-authenticate"), ...body };
}

/** The parts of a token, to be changed one by one. */
const partsOf = (token: string) => token.split(".") as [header: string, claims: string, signature: string];
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("a token that is not valid", () => {
  const { telemetry, logged } = loggedTelemetry();
  let relay: TestRelay;
  const sent: string[] = [];
  before(async () => {
    relay = await relayWith(
      { RELAY_TOKEN_AUDIENCE: "chat", RELAY_ADMIN_TOKEN: "an-admin-token-of-a-test" },
      telemetry,
    );
  });
  after(() => relay[Symbol.asyncDispose]());

  const good = { relay: EVERYTHING, aud: "chat" };
  const forged: Record<string, [make: () => string | Promise<string>, why: RegExp]> = {
    "has expired": [() => signed({ ...good, exp: now() - 6 }), /has expired/],
    "expired five seconds ago": [() => signed({ ...good, exp: now() - 5 }), /has expired/],
    "is not valid yet": [() => signed({ ...good, nbf: now() + 70 }), /not valid yet/],
    "was made in the future": [() => signed({ ...good, iat: now() + 70 }), /not valid yet/],
    "expires at a time in milliseconds": [
      () => signed({ ...good, exp: Date.now() + 600_000 }),
      /exp is in seconds/,
    ],
    "begins at a time in milliseconds": [() => signed({ ...good, nbf: Date.now() }), /nbf is in seconds/],
    "has no exp": [() => signed({ ...good, exp: undefined }), /claim exp is missing/],
    "has an exp that is a text": [
      () => signed({ ...good, exp: "tomorrow" as never }),
      /claim exp|JSON Web Token/,
    ],
    "is for another audience": [() => signed({ ...good, aud: "shop" }), /another audience/],
    "is for no audience": [() => signed({ relay: EVERYTHING }), /another audience/],
    "has another key": [() => signed(good, { key: OTHER_SECRET }), /not signed with the service's key/],
    "has another algorithm of the same secret": [
      () => signed(good, { header: { alg: "HS512" }, key: new TextEncoder().encode(SECRET.repeat(2)) }),
      /algorithm/,
    ],
    "has no signature": [() => new UnsecuredJWT({ ...good, exp: now() + 60 }).encode(), /./],
    "has the algorithm none in capitals": [
      async () => `${encoded({ alg: "NONE" })}.${partsOf(await signed(good))[1]}.`,
      /./,
    ],
    "has the signature of other claims": [
      async () => {
        const [header, , signature] = partsOf(await signed({ ...good, relay: [] }));
        return `${header}.${encoded({ ...good, exp: now() + 60 })}.${signature}`;
      },
      /not signed/,
    ],
    "names an extension that it calls critical": [
      () => {
        const head = `${encoded({ alg: "HS256", crit: ["x"], x: 1 })}.${encoded({ ...good, exp: now() + 60 })}`;
        return `${head}.${createHmac("sha256", SECRET).update(head).digest("base64url")}`;
      },
      /not a JSON Web Token/,
    ],
    "is too long": [() => signed({ ...good, padding: "x".repeat(4096) }), /longer than 4096/],
    "is no token": [() => "nonsense", /not a JSON Web Token/],
    "is the beginning of the admin's": [() => "an-admin-token-of-a-tes", /not a JSON Web Token/],
    "is empty": [() => "", /not a JSON Web Token/],
    "is encrypted": [() => "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..aaaa.bbbb.cccc", /not a JSON Web Token/],
    "has a subject that is a number": [() => signed({ ...good, sub: 5 as never }), /sub/],
    "has viewers without a subject": [() => signed({ ...good, viewers: 1 }), /viewers needs sub/],
    "has one and a half viewers": [() => signed({ ...good, sub: "a", viewers: 1.5 }), /viewers is not/],
    "has no viewers": [() => signed({ ...good, sub: "a", viewers: 0 }), /viewers is not .* at least 1/],
    "has fewer viewers than none": [() => signed({ ...good, sub: "a", viewers: -1 }), /viewers is not/],
    "has viewers in words": [() => signed({ ...good, sub: "a", viewers: "two" }), /viewers is not/],
  };
  const shapes = [undefined, null, "watch", 1, true, {}, { watch: true }];
  for (const relay_ of shapes)
    forged[`has the rights ${JSON.stringify(relay_)}`] = [
      () => signed({ ...good, relay: relay_ }),
      /relay is not an array/,
    ];
  const unknown = [
    "none",
    "wach",
    "WATCH",
    " watch",
    "watch:",
    "watch:no good",
    "watch:c/name",
    "admin",
    "*",
  ];
  for (const entry of [...unknown, 1, null, [], ["watch"], {}])
    forged[`has the right ${JSON.stringify(entry)}`] = [
      () => signed({ ...good, relay: ["watch", entry] }),
      /^Entry 2 of the token's claim relay is not a right/,
    ];

  for (const [what, [make, why]] of Object.entries(forged)) {
    it(`is refused, as it ${what}`, async () => {
      const token = await make();
      sent.push(token);
      const { status: answered, code, message = "", challenge } = await refusal(relay.url, token);
      assert.deepEqual([answered, code, challenge], [401, "UNAUTHORIZED", "Bearer"], message);
      assert.match(message, why);
      if (token.length > 10) assert.ok(!message.includes(token));
    });
  }

  it("is accepted from a clock that is a little ahead, and a little after its end", async () => {
    for (const claims of [{ nbf: now() + 50 }, { iat: now() + 50 }, { exp: now() }]) {
      const token = await signed({ ...good, ...claims });
      const { status } = await fetch(`${relay.url}/v1/rooms`, { headers: bearer(token) });
      assert.equal(status, 200, JSON.stringify(claims));
    }
  });

  it("is refused whatever bytes it is of", async () => {
    const tokens = Array.from({ length: 60 }, (_, length) => {
      const random = () => randomBytes(1 + length).toString("base64url");
      return [`${random()}.${random()}.${random()}`, random()];
    }).flat();
    for (const token of tokens) assert.equal(await status(relay, token), 401, token);
  });

  it("is refused if it comes twice, even if it is valid", async () => {
    const token = await signed(good);
    assert.equal(await status(relay, token), 200);
    const answer = await ask(relay.url, `/v1/rooms?access_token=${token}`, { headers: bearer(token) });
    assert.equal(answer.status, 401);
    const twice = await ask(relay.url, `/v1/rooms?access_token=${token}&access_token=${token}`);
    assert.equal(twice.status, 401);
  });

  it("is in no line of the log, although each refusal is logged", async () => {
    const token = await signed({ ...good, sub: "somebody-known" });
    sent.push(token);
    for (const path of [
      "/v1/rooms",
      `/v1/messages?videoId=${VIDEO}`,
      "/v1/nothing",
      "/v1/rooms/%zz",
      "/v1/log/x",
    ]) {
      await fetch(`${relay.url}${path}${path.includes("?") ? "&" : "?"}access_token=${token}`);
      await fetch(relay.url + path, { headers: bearer(token) });
    }
    const metrics = await (await fetch(`${relay.url}/metrics`)).text();
    assert.match(logged(), /"why":"The token has expired."/);
    for (const each of sent.filter(({ length }) => length > 10)) {
      for (const part of each.split(".").filter(({ length }) => length > 10)) {
        assert.ok(!logged().includes(part) && !metrics.includes(part), part);
      }
    }
    assert.ok(!logged().includes("somebody-known"));
  });
});

describe("a key in a file", () => {
  const ed25519 = generateKeyPairSync("ed25519");
  const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = ({ publicKey }: { publicKey: KeyObject }) =>
    publicKey.export({ type: "spki", format: "pem" }).toString();
  const kinds = [
    ["EdDSA", ed25519],
    ["ES256", p256],
    ["RS256", rsa],
  ] as const;

  for (const [alg, pair] of kinds) {
    it(`accepts ${alg} and nothing else, least of all its own bytes as a secret`, async (t) => {
      const path = `${await temporaryFile(t)}.pem`;
      writeFileSync(path, pem(pair));
      await using relay = await relayWith({ RELAY_TOKEN_KEY: path });
      const claims = { relay: EVERYTHING };
      const sign = (key: KeyObject, algorithm: string = alg) =>
        signed(claims, { key, header: { alg: algorithm } });
      assert.equal(await status(relay, await sign(pair.privateKey)), 200);
      for (const [other, { privateKey }] of kinds)
        if (other !== alg) assert.equal(await status(relay, await sign(privateKey, other)), 401, other);
      const secrets = [pem(pair), pem(pair).trim(), pair.publicKey.export({ type: "spki", format: "der" })];
      for (const secret of secrets) {
        const key = typeof secret === "string" ? new TextEncoder().encode(secret) : secret;
        assert.equal(await status(relay, await signed(claims, { key })), 401);
      }
      const fresh = { EdDSA: () => generateKeyPairSync("ed25519") }[alg as "EdDSA"]?.();
      if (fresh) assert.equal(await status(relay, await sign(fresh.privateKey)), 401);
    });
  }
});
