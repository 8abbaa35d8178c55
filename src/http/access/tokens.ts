/**
 * Checks JSON Web Tokens: their signature, their times and audience, and the rights that they give. A refusal
 * names the mistake, and never the right value.
 */
import { errors, type JWTPayload, jwtVerify } from "jose";
import type { Clock } from "../../base/clock.ts";
import { Rights, rightIn } from "../../protocol/rights.ts";
import { type Grant, type TokenTerms, unauthorized } from "./grant.ts";
import type { KeySource } from "./keys.ts";

/** By jose's code. */
const REASONS: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: "The token has expired.",
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "The token is not signed with the service's key.",
  ERR_JOSE_ALG_NOT_ALLOWED: "The token's algorithm is not that of the service's key.",
};
/** By the claim. */
const CLAIM_REASONS: Readonly<Record<string, string>> = {
  nbf: "The token is not valid yet.",
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
      const { payload } = await jwtVerify(
        token,
        async ({ kid, alg }) => {
          const found = await this.#keys.find(kid);
          if (!found) throw unauthorized("The token names a key that the service does not know.");
          if (alg === undefined || !found.algorithms.includes(alg)) throw new errors.JOSEAlgNotAllowed();
          return found.key;
        },
        {
          requiredClaims: ["exp"],
          currentDate: new Date(this.#clock.now()),
          ...(this.#audience && { audience: this.#audience }),
        },
      );
      const rights = rightsIn(payload).and(this.#publicRights);
      return { rights, terms: termsIn(payload) };
    } catch (error) {
      if (error instanceof errors.JWTClaimValidationFailed) throw unauthorized(reasonOf(error));
      if (error instanceof errors.JOSEError) throw unauthorized(REASONS[error.code] ?? NO_TOKEN);
      throw error;
    }
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
