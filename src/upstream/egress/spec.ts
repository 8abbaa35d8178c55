/**
 * Parses the setting that lists egresses: `direct`, `ip:<local address>`, `http://…`, `socks5://…`, separated
 * by commas, each with an optional name (`office=direct`). Everybody may see the names, so no default name
 * has an address, and a proxy's credentials stay in its URL. Also checks that local addresses are this
 * machine's.
 */
import { once } from "node:events";
import { createServer, isIP } from "node:net";

/** One egress. */
export type EgressSpec = {
  /** The egress's name in metrics, log and list of rooms. */
  name: string;
  /** Stays the same if the list changes: its name if the setting names it, else its address. */
  key: string;
  /** Whether the setting names it: instances on one store share the pace of named egresses. */
  isNamed: boolean;
} & (
  | /** The machine's own address, or the proxy that the environment names. */ { kind: "direct" }
  | { kind: "address"; address: string }
  | { kind: "proxy"; url: string }
);

/** The entry `direct`, without a name of its own. */
export const DIRECT = {
  name: "direct",
  key: "direct",
  isNamed: false,
  kind: "direct",
} as const satisfies EgressSpec;

const NAMED = /^(?<name>[A-Za-z0-9][\w.-]{0,62})=(?<form>.*)$/s;
const LOCAL_ADDRESS = /^ip:(?<address>.+)$/s;
/** Ports of proxies, by protocol. */
const DEFAULT_PORTS: Record<string, number> = { "http:": 80, "socks5:": 1080 };

const MUST =
  "a comma-separated list of `direct`, `ip:<local address>`, `http://host:port` and `socks5://host:port`, each at most once, with a unique name (`office=direct`; by default its place, as in `proxy-2`)";

/** Throws an error that says which texts are valid, and which entry is not. */
export function parseEgressSpecs(text: string): EgressSpec[] {
  const specs = text.split(",").map((entry, i) => {
    const spec = parseSpec(entry.trim(), i + 1);
    if (!spec) throw new Error(`${MUST}; entry ${i + 1} is none of these`);
    return spec;
  });
  for (const [i, { name, key }] of specs.entries()) {
    const others = specs.slice(0, i);
    if (others.some((other) => other.name === name || other.key === key))
      throw new Error(`${MUST}; entry ${i + 1} is the same as another, or has its name, ${name}`);
  }
  return specs;
}

/** The first address that is not one of this machine's. */
export async function foreignAddress(specs: readonly EgressSpec[]): Promise<string | undefined> {
  for (const spec of specs) {
    if (spec.kind !== "address") continue;
    const server = createServer();
    try {
      server.listen(0, spec.address);
      await once(server, "listening");
    } catch {
      return spec.address;
    } finally {
      server.close();
    }
  }
  return undefined;
}

function parseSpec(entry: string, place: number): EgressSpec | undefined {
  const { name, form = entry } = NAMED.exec(entry)?.groups ?? {};
  const named = (unnamed: string, key: string) => ({
    name: name ?? unnamed,
    key: name ?? key,
    isNamed: name !== undefined,
  });
  if (form === DIRECT.kind) return { ...DIRECT, ...named(DIRECT.name, DIRECT.key) };
  const address = LOCAL_ADDRESS.exec(form)?.groups?.address;
  if (address !== undefined) {
    return isIP(address) ? { ...named(`ip-${place}`, address), kind: "address", address } : undefined;
  }
  const url = form.includes("://") ? proxyUrl(form) : undefined;
  const usualPort = url && DEFAULT_PORTS[url.protocol];
  if (!url?.hostname || usualPort === undefined || !/^\/?$/.test(url.pathname) || url.search || url.hash) {
    return undefined;
  }
  const own = `${url.hostname}:${url.port || usualPort}`;
  return { ...named(`proxy-${place}`, own), kind: "proxy", url: url.href };
}

/** The URL of a proxy; undefined if the text is none, or has credentials that cannot be decoded. */
export function proxyUrl(text: string): URL | undefined {
  try {
    const url = new URL(text);
    decodeURIComponent(url.username + url.password);
    return url;
  } catch {
    return undefined;
  }
}
