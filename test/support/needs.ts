/**
 * What tests need besides `npm ci`, and what installs it. A test without what it needs is skipped, with the
 * reason that this table gives; the end of a run names each reason once. Started as a program, it prints the
 * Debian packages that are missing.
 */
import { existsSync, globSync } from "node:fs";
import { delimiter, join } from "node:path";

const SYSTEM_FOLDERS = ["/usr/sbin", "/sbin"];

const inPath = (program: string): boolean =>
  [...(process.env.PATH ?? "").split(delimiter), ...SYSTEM_FOLDERS].some((folder) =>
    existsSync(join(folder, program)),
  );

/** By name: the Debian package, and how to find out whether it is there, if not by a program of that name. */
const NEEDS = {
  "chromium-headless-shell": ["chromium-headless-shell", () => anyOf("/usr/bin/chromium{-headless-shell,}")],
  "firefox-esr": ["firefox-esr"],
  PostgreSQL: ["postgresql", () => anyOf("/usr/lib/postgresql/*/bin/initdb") || inPath("initdb")],
  pgbouncer: ["pgbouncer"],
  nginx: ["nginx"],
  caddy: ["caddy"],
  varnishd: ["varnish"],
  tinyproxy: ["tinyproxy"],
  microsocks: ["microsocks"],
  danted: ["dante-server"],
  curl: ["curl"],
  python3: ["python3"],
  httpx: ["python3-httpx", () => existsSync("/usr/lib/python3/dist-packages/httpx")], // of /usr/bin/python3
  go: ["golang-go"],
  openssl: ["openssl"],
  jq: ["jq"],
  promtool: ["prometheus"],
  "systemd-analyze": ["systemd"],
  "systemd-notify": ["systemd"],
  "/usr/bin/node": ["nodejs", () => existsSync("/usr/bin/node")], // which the units of systemd name
  faketime: ["faketime"],
  prlimit: ["util-linux"],
  setpriv: ["util-linux"],
  unshare: ["util-linux"],
  mount: ["mount"],
  chattr: ["e2fsprogs"],
  script: ["bsdutils"],
} satisfies Record<string, readonly [string, (() => boolean)?]>;

export type Need = keyof typeof NEEDS;

function anyOf(pattern: string): boolean {
  return globSync(pattern).length > 0;
}

function isThere(need: Need): boolean {
  const [, has = () => inPath(need)]: readonly [string, (() => boolean)?] = NEEDS[need];
  return has();
}

/** For the `skip` of a test that needs all of these: the reason if one is missing, else false. */
export function without(...needs: Need[]): string | false {
  const missing = needs.find((need) => !isThere(need));
  return missing !== undefined && missingBut(missing, `apt-get install ${NEEDS[missing][0]}`);
}

/** The reason of a test that needs what this command installs. */
export function missingBut(what: string, command: string): string {
  return `${what} is missing: ${command}`;
}

/** What skipped tests need, by their reasons: a line for each command that installs, and the others. */
export function remedies(reasons: Iterable<string>): string[] {
  const packages = new Map<string, string[]>();
  const others = new Set<string>();
  for (const reason of new Set(reasons)) {
    const [, what = reason, command] = /^(.*) is missing: (.*)$/.exec(reason) ?? [];
    if (command === undefined) others.add(what);
    else {
      const [, debian] = /^apt-get install (.*)$/.exec(command) ?? [];
      const key = debian === undefined ? command : "apt-get install";
      packages.set(key, [...(packages.get(key) ?? []), debian ?? what]);
    }
  }
  const commands = packages.entries().map(([command, of]) => {
    const names = [...new Set(of)];
    return command === "apt-get install"
      ? `${command} ${names.join(" ")}`
      : `${command}   # ${names.join(", ")}`;
  });
  return [...others, ...commands];
}

if (import.meta.main) {
  const missing = (Object.keys(NEEDS) as Need[]).filter((need) => !isThere(need));
  process.stdout.write([...new Set(missing.map((need) => NEEDS[need][0]))].join(" "));
}
