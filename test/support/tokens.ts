/** Tokens as an operator's own program signs them. */
import { createHmac } from "node:crypto";
import { SignJWT } from "jose";

/** A secret for RELAY_TOKEN_KEY. */
export const SECRET = "a secret of thirty-two bytes, and some more";

type Key = Parameters<SignJWT["sign"]>[0];

interface Signing {
  key?: Key;
  header?: { alg?: string; kid?: string };
}

/** A token with these claims, by default for an hour. `exp: undefined` leaves it out. */
export function signed(
  claims: Record<string, unknown>,
  { key = new TextEncoder().encode(SECRET), header = {} }: Signing = {},
): Promise<string> {
  const exp = Math.floor(Date.now() / 1000) + 3600;
  return new SignJWT({ exp, ...claims }).setProtectedHeader({ alg: "HS256", ...header }).sign(key);
}

/** A token with these claims, which name `exp` themselves, for programs that wait for nothing. */
export function signedAtOnce(claims: Record<string, unknown>, secret = SECRET): string {
  const parts = [{ alg: "HS256" }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString("base64url"),
  );
  const signature = createHmac("sha256", secret).update(parts.join(".")).digest("base64url");
  return [...parts, signature].join(".");
}

/** The header that carries a token. */
export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
