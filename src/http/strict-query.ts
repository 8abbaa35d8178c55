/** Refuses query parameters that an endpoint does not have: a misspelt one would silently have no effect. */
import type { FastifyRequest } from "fastify";
import { isOneSlip, MAX_NAME_LENGTH, suggestOrList } from "../base/suggest.ts";
import { invalidRequest } from "../protocol/errors.ts";

/** The minimum length of a parameter's name that an unknown one may be a slip of. */
const MIN_SLIP_LENGTH = 5;

/**
 * A hook that runs before the validation of a query. It throws `RelayError` INVALID_REQUEST for a parameter
 * that the query's schema does not have.
 */
export function knownParametersOnly({ properties }: { properties: object }) {
  return refusing(Object.keys(properties), () => true);
}

/** As `knownParametersOnly`, but only for a name that is most likely a slip of a known one. */
export function noMisspeltParameters({ properties }: { properties: object }) {
  const known = [...Object.keys(properties), "access_token"]; // every route takes a token
  const long = known.filter(({ length }) => length >= MIN_SLIP_LENGTH);
  return refusing(known, (name) => long.some((other) => isOneSlip(name, other)));
}

function refusing(known: readonly string[], isRefused: (unknown: string) => boolean) {
  return async ({ query }: FastifyRequest): Promise<void> => {
    const names = Object.keys(query as object).map((name) => name.slice(0, MAX_NAME_LENGTH));
    const name = names.find((each) => !known.includes(each) && isRefused(each));
    if (name === undefined) return;
    const words = `${name}: is not a parameter of this endpoint${suggestOrList(name, known)}`;
    throw invalidRequest(words);
  };
}
