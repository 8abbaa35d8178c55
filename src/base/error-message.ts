/**
 * Makes errors and messages of thrown values. Messages of the upstream and of connections may end with a full
 * stop or not, so one is added or taken away here. Says what to do about a certificate that is not accepted.
 */

/** The thrown value if it is an error, or an error with it as the message. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** The message of a thrown value. */
export function messageOf(thrown: unknown): string {
  return asError(thrown).message;
}

/** To be continued, or put into another sentence. */
export function withoutStop(message: string): string {
  return message.replace(/\.$/, "");
}

/** As a sentence of its own. */
export function withStop(message: string): string {
  return `${withoutStop(message)}.`;
}

/** What to do if a server's certificate is not accepted, by the error code of Node.js. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /SELF_SIGNED|LEAF_SIGNATURE|GET_ISSUER/,
    "if you trust it, set the variable NODE_EXTRA_CA_CERTS to a file with the certificate of its authority, or with itself if it is self-signed",
  ],
  [/CERT_HAS_EXPIRED/, "renew it at the server"],
  [/CERT_ALTNAME_INVALID/, "use the host name that it was made for"],
];

/** Says in one line why a certificate is not accepted; undefined for a code that `REMEDIES` does not have. */
export function certificateTrouble(code: string | undefined): string | undefined {
  const remedy = REMEDIES.find(([codes]) => codes.test(code ?? ""))?.[1];
  return remedy && `the server's certificate is not accepted (${code}): ${remedy}`;
}
