/** Tokens as an operator's own program signs them. */
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

/** The header that carries a token. */
export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
