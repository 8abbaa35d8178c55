/** What the token of a request grants, or why it does not count. `access.ts` decides by it. */
import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import { RelayError } from "../../protocol/errors.ts";
import { RIGHTS, Rights } from "../../protocol/rights.ts";

/** What a valid token says besides its rights. */
export interface TokenTerms {
  /** Wall milliseconds; Infinity for a token that does not expire. */
  expiresAt: number;
  /** The name of its holder. */
  subject?: string;
  /** How many connections this subject may have at the same time. */
  viewers?: number;
}

export interface Grant {
  /** With those that are public. */
  rights: Rights;
  /** Each grant has them: without a token that counts, there is none. */
  terms?: TokenTerms;
}

/** What the service's own secrets grant. */
export const EVERYTHING: Grant = {
  rights: new Rights(RIGHTS),
  terms: { expiresAt: Number.POSITIVE_INFINITY },
};

const outcome = Symbol("outcome of the token");

interface Asked extends IncomingMessage {
  [outcome]?: Grant | RelayError;
}

/** Keeps what the request's token grants, or its refusal until it is known whether the request needs one. */
export function setOutcome({ raw }: FastifyRequest, found: Grant | RelayError): void {
  (raw as Asked)[outcome] = found;
}

/** Undefined without a token that counts, and where everybody has each right of the route. */
export function grantOf({ raw }: FastifyRequest): Grant | undefined {
  const found = (raw as Asked)[outcome];
  return found instanceof RelayError ? undefined : found;
}

/** Why the request's token does not count; undefined if it does, or if there is none. */
export function refusalOf({ raw }: FastifyRequest): RelayError | undefined {
  const found = (raw as Asked)[outcome];
  return found instanceof RelayError ? found : undefined;
}

/** The refusal of a request without a token, or with one that is not valid: `why` it is not. */
export function unauthorized(why: string): RelayError {
  return new RelayError("UNAUTHORIZED", why);
}
