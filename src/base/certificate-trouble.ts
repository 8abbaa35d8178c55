/** Says in one line why a server's certificate is not accepted, and what to do. */

/** By the error code of Node.js. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /SELF_SIGNED|LEAF_SIGNATURE|GET_ISSUER/,
    "if you trust it, set the variable NODE_EXTRA_CA_CERTS to a file with the certificate of its authority, or with itself if it is self-signed",
  ],
  [/CERT_HAS_EXPIRED/, "renew it at the server"],
  [/CERT_ALTNAME_INVALID/, "use the host name that it was made for"],
];

/** Undefined if the error is not about a certificate. */
export function certificateTrouble(code: string | undefined): string | undefined {
  const remedy = REMEDIES.find(([codes]) => codes.test(code ?? ""))?.[1];
  return remedy && `the server's certificate is not accepted (${code}): ${remedy}`;
}
