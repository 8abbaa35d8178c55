/**
 * Checks JSON Web Tokens: their signature, their times and audience, and the rights that they give. A refusal
 * names the mistake, and never the right value.
 */
import { errors, type JWTHeaderParameters, type JWTPayload, jwtVerify } from "jose";
import type { Clock } from "../../base/clock.ts";
import { Rights, rightIn } from "../../protocol/rights.ts";
import { type Grant, type TokenTerms, unauthorized } from "./grant.ts";
import type { KeySource } from "./keys.ts";
import type { VerifyingKey } from "./token-key.ts";

/**
 * How far the clock of a token's issuer may be ahead of this one, and how long after its end a token still
 * opens a connection, in seconds.
 */
const LEEWAY_S = 60;
const EXP_LEEWAY_S = 5;

const EXPIRED = "The token has expired.";
const NOT_YET = "The token is not valid yet.";

/** By jose's code. */
const REASONS: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: EXPIRED,
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "The token is not signed with the service's key.",
  ERR_JOSE_ALG_NOT_ALLOWED: "The token's algorithm is not that of the service's key.",
};
/** By the claim. */
const CLAIM_REASONS: Readonly<Record<string, string>> = {
  nbf: NOT_YET,
  aud: "The token is for another audience.",
};
/** Larger times of a token are taken for milliseconds: this one is in the year 5138. */
const MAX_SECONDS = 1e11;
const NO_TOKEN = "The token is not a JSON Web Token.";

export class Tokens {
  readonly #keys: KeySource;
  readonly #audience: string;
  readonly #publicRights: Rights;
  readonly #clock: Clock;

  /** `audience`: "" if any will do. */
  constructor(keys: KeySource, audience: string, publicRights: Rights, clock: Clock) {
    this.#keys = keys;
    this.#audience = audience;
    this.#publicRights = publicRights;
    this.#clock = clock;
  }

  /** Rejects with `RelayError` UNAUTHORIZED, and CAPACITY while no keys are known. */
  async grant(token: string): Promise<Grant> {
    try {
      const payload = await this.#verified(token);
      const seconds = Math.floor(this.#clock.now() / 1000);
      const { exp = 0, iat = 0 } = payload;
      if (exp <= seconds - EXP_LEEWAY_S) throw unauthorized(EXPIRED);
      if (iat > seconds + LEEWAY_S) throw unauthorized(NOT_YET);
      const rights = rightsIn(payload).and(this.#publicRights);
      const terms = termsIn(payload);
      return { rights, terms: exp > seconds ? terms : { ...terms, expiresAt: 1000 * (exp + EXP_LEEWAY_S) } };
    } catch (error) {
      if (error instanceof errors.JWTClaimValidationFailed) throw unauthorized(reasonOf(error));
      if (error instanceof errors.JOSEError) throw unauthorized(REASONS[error.code] ?? NO_TOKEN);
      throw error;
    }
  }

  /**
   * The claims of a token that one of the keys has signed. Rejects with an error of jose, or as `grant` does.
   */
  async #verified(token: string): Promise<JWTPayload> {
    const options = {
      requiredClaims: ["exp"],
      clockTolerance: LEEWAY_S,
      currentDate: new Date(this.#clock.now()),
      ...(this.#audience && { audience: this.#audience }),
    };
    let keys: VerifyingKey["key"][] | undefined;
    for (;;) {
      try {
        const verified = await jwtVerify(
          token,
          async (header: JWTHeaderParameters) => {
            keys ??= await this.#keysFor(header);
            return keys.shift() as VerifyingKey["key"]; // there is one
          },
          options,
        );
        return verified.payload;
      } catch (error) {
        const isOfAnother = error instanceof errors.JWSSignatureVerificationFailed;
        if (!isOfAnother || !keys || keys.length === 0) throw error;
      }
    }
  }

  /** At least one. Rejects with an error of jose, or as `grant` does. */
  async #keysFor({ kid, alg }: JWTHeaderParameters): Promise<VerifyingKey["key"][]> {
    const known = await this.#keys.find(kid);
    if (known.length === 0) throw unauthorized("The token names a key that the service does not know.");
    const fitting = known.filter(({ algorithms }) => algorithms.includes(alg));
    if (fitting.length === 0) throw new errors.JOSEAlgNotAllowed();
    return fitting.map(({ key }) => key);
  }

  close(): Promise<void> {
    return this.#keys.close();
  }
}

function reasonOf({ claim, payload }: errors.JWTClaimValidationFailed): string {
  if (claim === "nbf" && Number(payload.nbf) > MAX_SECONDS) return inMilliseconds(claim);
  return CLAIM_REASONS[claim] ?? `The token's claim ${claim} is missing or invalid.`;
}

function inMilliseconds(claim: string): string {
  return `The token's claim ${claim} is in seconds, and this one is too large: it may be in milliseconds.`;
}

/** Throws `RelayError` UNAUTHORIZED. */
function rightsIn({ relay }: JWTPayload): Rights {
  if (!Array.isArray(relay)) throw unauthorized("The token's claim relay is not an array of rights.");
  const rights = relay.map((entry) => (typeof entry === "string" ? rightIn(entry) : undefined));
  const unknown = rights.indexOf(undefined);
  if (unknown >= 0) throw unauthorized(`Entry ${unknown + 1} of the token's claim relay is not a right.`);
  return new Rights(rights.filter((right) => right !== undefined));
}

/** Throws `RelayError` UNAUTHORIZED. */
function termsIn({ exp = 0, sub, viewers }: JWTPayload): TokenTerms {
  if (exp > MAX_SECONDS) throw unauthorized(inMilliseconds("exp"));
  if (sub !== undefined && typeof sub !== "string")
    throw unauthorized("The token's claim sub is not a text.");
  if (viewers === undefined) return { expiresAt: 1000 * exp, ...(sub !== undefined && { subject: sub }) };
  if (typeof viewers !== "number" || !Number.isInteger(viewers) || viewers < 1)
    throw unauthorized("The token's claim viewers is not a whole number of at least 1.");
  if (sub === undefined)
    throw unauthorized("The token's claim viewers needs sub, whose connections it counts.");
  return { expiresAt: 1000 * exp, subject: sub, viewers };
}
