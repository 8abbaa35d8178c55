/** `token`: what it prints opens a service that has its key, and nothing but the right that it names. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { outcome } from "../support/command.ts";
import { startRelay } from "../support/relay.ts";
import { temporaryFolder } from "../support/store-subject.ts";
import { bearer, SECRET } from "../support/tokens.ts";

const VIDEO = "dQw4w9WgXcQ";
const pem = { type: "pkcs8", format: "pem" } as const;
const spki = { type: "spki", format: "pem" } as const;

const KEYS = {
  EdDSA: () => generateKeyPairSync("ed25519"),
  ES256: () => generateKeyPairSync("ec", { namedCurve: "prime256v1" }),
  RS256: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
};

/** Two files, of the private and of the public key. */
async function filesOf(t: TestContext, { privateKey, publicKey }: ReturnType<(typeof KEYS)["EdDSA"]>) {
  const folder = await temporaryFolder(t);
  const [own, others] = [join(folder, "private.pem"), join(folder, "public.pem")];
  await writeFile(own, privateKey.export(pem));
  await writeFile(others, publicKey.export(spki));
  return { own, others };
}

/** The statuses of a chat's history, of another chat's, and of the rooms, with this token. */
async function opened(url: string, token: string): Promise<number[]> {
  const paths = [`messages?videoId=${VIDEO}`, "messages?videoId=another-one", "rooms"];
  const answers = paths.map((path) => fetch(`${url}/v1/${path}`, { headers: bearer(token) }));
  return (await Promise.all(answers)).map(({ status }) => status);
}

describe("token", () => {
  it("prints one that is signed with the service's secret", async () => {
    const settings = { RELAY_PUBLIC: "none", RELAY_TOKEN_KEY: SECRET, RELAY_TOKEN_AUDIENCE: "chat" };
    await using relay = await startRelay({ settings });
    const env = { RELAY_TOKEN_KEY: SECRET, RELAY_TOKEN_AUDIENCE: "chat" };
    const { code, out, error } = await outcome(["token", "--right", `watch:${VIDEO}`], { env });
    assert.deepEqual([code, error], [0, ""]);
    assert.deepEqual(await opened(relay.url, out.trim()), [404, 403, 403]);
    const { out: unnamed } = await outcome(["token", "--right", "watch"], {
      env: { RELAY_TOKEN_KEY: SECRET },
    });
    assert.deepEqual(await opened(relay.url, unnamed.trim()), [401, 401, 401]);
  });

  for (const [algorithm, make] of Object.entries(KEYS)) {
    it(`prints one that is signed with a private key, by ${algorithm}`, async (t) => {
      const { own, others } = await filesOf(t, make());
      const settings = { RELAY_PUBLIC: "none", RELAY_TOKEN_KEY: others };
      await using relay = await startRelay({ settings });
      // The service's own setting, which cannot sign, may be in the environment.
      const env = { RELAY_TOKEN_KEY: others };
      const { out } = await outcome(["token", "--right", "watch,rooms", "--key-file", own], { env });
      assert.equal(decodeProtectedHeader(out.trim()).alg, algorithm);
      assert.deepEqual(await opened(relay.url, out.trim()), [404, 404, 200]);
    });
  }

  it("writes the user, the number of connections and the end into it", async () => {
    const args = ["token", "--right", "watch:@Name, rooms", "--sub", "ann", "--viewers", "3", "--for", "30m"];
    const from = Math.floor(Date.now() / 1000);
    const { out } = await outcome(args, { env: { RELAY_TOKEN_KEY: SECRET } });
    assert.match(out, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const { exp = 0, iat = 0, ...claims } = decodeJwt(out.trim());
    assert.deepEqual(claims, { relay: ["watch:@name", "rooms"], sub: "ann", viewers: 3 });
    assert.ok(exp - iat === 1800 && iat >= from, `${iat} to ${exp}, from ${from}`);
  });

  it("gives all rights that are named, in one flag or in several", async () => {
    const args = ["token", "--right", "watch:@a,watch:@b", "--right", "rooms", "--right=poll"];
    const { out } = await outcome(args, { env: { RELAY_TOKEN_KEY: SECRET } });
    assert.deepEqual(decodeJwt(out.trim()).relay, ["watch:@a", "watch:@b", "rooms", "poll"]);
  });

  describe("refuses, in one line that shows no key,", () => {
    const secret = "a-secret-that-is-too-short";
    const files: Record<string, () => string | Buffer> = {
      "of a short key": () => generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey.export(pem),
      "of another curve": () => generateKeyPairSync("ec", { namedCurve: "secp384r1" }).privateKey.export(pem),
      "of a locked key": () =>
        KEYS.EdDSA().privateKey.export({ ...pem, cipher: "aes-256-cbc", passphrase: "x" }),
      "of a public key": () => KEYS.EdDSA().publicKey.export(spki),
      "of a text": () => secret,
    };
    const RIGHT = ["--right", "watch"];
    const rows: [what: string, args: string[], line: RegExp, env?: Record<string, string>][] = [
      ["no right", [], /--right is missing: what the token opens, such as watch:@name,rooms/],
      ["the right to nothing", ["--right", "none"], /--right names no right: what the token opens/],
      ["an unknown right", ["--right", "watch,wach"], /--right: "wach" is no right; write watch, rooms,/],
      ["an endless time", [...RIGHT, "--for", "0d"], /--for: must be a time such as 90s, 30m, 12h or 30d/],
      [
        "a time without end",
        [...RIGHT, "--for", "1000000d"],
        /--for: .* a number from 1 to 999999, not "1000000d"/,
      ],
      [
        "no connection at all",
        [...RIGHT, "--sub", "a", "--viewers", "0"],
        /--viewers: .* of at least 1, not/,
      ],
      ["a number of nobody's connections", [...RIGHT, "--viewers", "1"], /--viewers needs --sub/],
      ["no key", RIGHT, /RELAY_TOKEN_KEY is missing: set it to the service's secret .*--key-file$/m, {}],
      ["a short secret", RIGHT, /RELAY_TOKEN_KEY: must be a secret of at/, { RELAY_TOKEN_KEY: secret }],
      [
        "a URL",
        RIGHT,
        /RELAY_TOKEN_KEY names a public key or a URL, which cannot sign/,
        { RELAY_TOKEN_KEY: "https://id.example/" },
      ],
      [
        "the text of a public key",
        RIGHT,
        /RELAY_TOKEN_KEY: .* give the name of the file/,
        { RELAY_TOKEN_KEY: `${KEYS.ES256().publicKey.export(spki)}` },
      ],
      [
        "a missing file",
        RIGHT,
        /RELAY_TOKEN_KEY: .*; the file cannot be read: there is no such file/,
        {
          RELAY_TOKEN_KEY: "/no/such.pem",
        },
      ],
      [
        "the secret's file",
        RIGHT,
        /; the file has no public key in PEM in it; for a secret, give its text/,
        {
          RELAY_TOKEN_KEY: import.meta.filename,
        },
      ],
      ["a secret as a flag", [...RIGHT, "--token-key", secret], /--token-key is not a flag/],
      [
        "no such file",
        [...RIGHT, "--key-file", "/no/such"],
        /--key-file: \/no\/such cannot be read: there is/,
      ],
    ];
    for (const [what, args, line, env = { RELAY_TOKEN_KEY: SECRET }] of rows) {
      it(what, async () => {
        const { code, out, error } = await outcome(["token", ...args], { env });
        assert.deepEqual([code, out], [2, ""]);
        assert.match(error, /^livechat-relay: [^\n]+\n$/);
        assert.match(error, line);
        assert.ok(!error.includes(secret));
      });
    }
    for (const [what, content] of Object.entries(files)) {
      it(`the file ${what}`, async (t) => {
        const path = join(await temporaryFolder(t), "key");
        await writeFile(path, content());
        const { code, error } = await outcome(["token", ...RIGHT, "--key-file", path]);
        assert.equal(code, 2);
        assert.match(
          error,
          /--key-file: \S+ must contain a private key in PEM, without a password, for EdDSA/,
        );
        assert.ok(!error.includes(secret));
      });
    }
  });
});
