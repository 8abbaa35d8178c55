/** A certificate for 127.0.0.1 that nobody has signed, valid until 2126, and its key. */
import { writeFile } from "node:fs/promises";
import type { TestContext } from "node:test";
import { temporaryFile } from "./store-subject.ts";

export const SELF_SIGNED = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgBHI+47ROaS7TA2Ek
HMXotAg7/5qLvIFVoYQf3VSqzcihRANCAARGqGrGSMaAzXk/tWNhsM12LT/0pDEW
WdFuBbmEqZfTpdZWINwLy+AhZEAE4QKscYLuMugpntrAqwOYEwUqfYh1
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBkDCCATagAwIBAgIUJ3XbVC23qyRpgVsEWoSZzPVpU5YwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEyNDIzNDAzNVoYDzIxMjYxMDMx
MjM0MDM1WjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARGqGrGSMaAzXk/tWNhsM12LT/0pDEWWdFuBbmEqZfTpdZWINwLy+Ah
ZEAE4QKscYLuMugpntrAqwOYEwUqfYh1o2QwYjAdBgNVHQ4EFgQU4gsF5oDDjPp3
pu3oVP8VsC5fZFMwHwYDVR0jBBgwFoAU4gsF5oDDjPp3pu3oVP8VsC5fZFMwDwYD
VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0gAMEUC
IEUHBGGRiF2UNWjpeiprMHN2s19b3MXqvuI1C+I+ZcHKAiEA6xa6WBx4IzJ/g00m
1FPZ+u+TITRMhh66qHvGj0+qJ4Q=
-----END CERTIFICATE-----
`,
};

/** A file with the certificate, for NODE_EXTRA_CA_CERTS. */
export async function certificateFile(t: TestContext): Promise<string> {
  const path = await temporaryFile(t);
  await writeFile(path, SELF_SIGNED.cert);
  return path;
}
