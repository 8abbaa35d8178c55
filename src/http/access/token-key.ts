/**
 * The keys that sign tokens: a shared secret, a public key, or the set of keys at a URL. The algorithm
 * follows from the key, never from the token.
 */
import { createPublicKey, createSecretKey, type KeyObject, type webcrypto } from "node:crypto";

/** As the setting names it. `pem`: the text of a file. */
export type TokenKey =
  | { kind: "secret"; secret: string }
  | { kind: "public"; pem: string }
  | { kind: "set"; url: string };

/** A key, and the algorithms of signatures that it may verify. */
export interface VerifyingKey {
  /** In the form of WebCrypto, which jose would otherwise make for each token. */
  key: webcrypto.CryptoKey;
  algorithms: readonly string[];
}

const MIN_RSA_BITS = 2048;

/** Throws an error that says which keys are accepted. */
export function publicKey(pem: string): VerifyingKey {
  if (/PRIVATE KEY/.test(pem)) throw new Error("a public key: this file has a private one");
  return verifying(keyIn(pem));
}

function keyIn(pem: string): KeyObject {
  try {
    return createPublicKey(pem);
  } catch {
    throw new Error("a public key in PEM: this file's is not readable");
  }
}

/** Throws as `publicKey` does. */
export function verifying(key: KeyObject): VerifyingKey {
  const { asymmetricKeyType: type, asymmetricKeyDetails: { namedCurve, modulusLength = 0 } = {} } = key;
  const as = (algorithm: Parameters<KeyObject["toCryptoKey"]>[0], ...algorithms: string[]) => ({
    key: key.toCryptoKey(algorithm, true, ["verify"]),
    algorithms,
  });
  if (type === "ed25519") return as({ name: "Ed25519" }, "EdDSA", "Ed25519");
  if (type === "ec" && namedCurve === "prime256v1")
    return as({ name: "ECDSA", namedCurve: "P-256" }, "ES256");
  if (type === "rsa" && modulusLength >= MIN_RSA_BITS)
    return as({ name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" }, "RS256");
  throw new Error("a public key for EdDSA (Ed25519), ES256 (P-256) or RS256 (2048 bits and more)");
}

export function secretKey(secret: string): VerifyingKey {
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = createSecretKey(secret, "utf8").toCryptoKey(hmac, false, ["verify"]);
  return { key, algorithms: ["HS256"] };
}
