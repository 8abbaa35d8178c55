/**
 * The flags of `token`. Keys are not among them, because other users of the machine can see a flag: the
 * secret comes from its variable, and a private key from a file.
 */
import type { Flag } from "./flags.ts";
import { duration, publicRights, whole } from "./setting-readers.ts";
import { SETTINGS } from "./setting-table.ts";

const { RELAY_TOKEN_KEY, RELAY_TOKEN_AUDIENCE } = SETTINGS;

const right: Flag<string[]> = {
  default: "",
  isList: true,
  meaning:
    "what the token opens: a comma-separated list of rights as in RELAY_PUBLIC, such as watch:@name,rooms",
  read: publicRights,
};

const lasts: Flag<number> = {
  default: "1h",
  meaning: "how long it is valid, such as 90s, 30m, 12h or 30d",
  read: duration,
};

const sub: Flag<string> = {
  default: "",
  meaning: "the holder, for example the name of a user; the service's log shows a hash of it",
  read: (text) => text,
};

const viewers: Flag<number | undefined> = {
  default: "",
  unset: "any number",
  meaning: "with --sub: how many connections this user may have at the same time",
  read: (text) => (text === "" ? undefined : whole(1)(text)),
};

const keyFile: Flag<string> = {
  default: "",
  meaning: "file with the private key in PEM that signs it, if RELAY_TOKEN_KEY is the public one or a URL",
  read: (path) => path,
};

export const TOKEN_FLAGS = {
  right,
  for: lasts,
  sub,
  viewers,
  "key-file": keyFile,
  RELAY_TOKEN_KEY: {
    ...RELAY_TOKEN_KEY,
    meaning: "the secret that signs it: the service's RELAY_TOKEN_KEY",
    isOnlyVariable: true as const, // other users of the machine can see a flag
  },
  RELAY_TOKEN_AUDIENCE: {
    ...RELAY_TOKEN_AUDIENCE,
    meaning: "the `aud` that the token gets: the service's RELAY_TOKEN_AUDIENCE",
  },
};
