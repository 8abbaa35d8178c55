/** Refuses query parameters that an endpoint does not have: a misspelt one would silently have no effect. */
import type { FastifyRequest } from "fastify";
import { suggestOrList } from "../base/suggest.ts";
import { RelayError } from "../protocol/errors.ts";

/** The maximum length of a name that is looked up and quoted in an error. */
const MAX_NAME_LENGTH = 100;

/**
 * A hook that runs before the validation of a query. It throws `RelayError` INVALID_REQUEST for a parameter
 * that the query's schema does not have.
 */
export function knownParametersOnly({ properties }: { properties: object }) {
  const known = Object.keys(properties);
  return async ({ query }: FastifyRequest): Promise<void> => {
    const unknown = Object.keys(query as object).find((name) => !known.includes(name));
    if (unknown === undefined) return;
    const name = unknown.slice(0, MAX_NAME_LENGTH);
    const words = `${name}: is not a parameter of this endpoint${suggestOrList(name, known)}`;
    throw new RelayError("INVALID_REQUEST", words);
  };
}
