/**
 * The egresses that a setting lists: `direct`, `ip:<local address>`, `http://…`, `socks5://…`, with
 * commas between and each with a name before it if wanted (`office=direct`). What a proxy asks for stays in its URL:
 * no name and no error holds it.
 */
import { once } from "node:events";
import { createServer, isIP } from "node:net";

/** One way out to the upstream. */
export type EgressSpec = {
  /** Of the egress, in metrics, log and list of rooms. */
  name: string;
  /** Whether the setting names it: instances on one store share the pace of those. */
  isNamed: boolean;
} & (
  | /** The machine's own address, or the proxy that the environment names. */ { kind: "direct" }
  | { kind: "address"; address: string }
  | { kind: "proxy"; url: string }
);

const NAMED = /^(?<name>[A-Za-z0-9][\w.-]{0,62})=(?<form>.*)$/s;
const LOCAL_ADDRESS = /^ip:(?<address>.+)$/s;
/** By the protocols of proxies. */
const DEFAULT_PORTS: Record<string, number> = { "http:": 80, "socks5:": 1080 };

const MUST =
  "a comma-separated list of `direct`, `ip:<local address>`, `http://host:port` and `socks5://host:port`, each with a unique name (`office=direct`; by default its address)";

/** Throws an error that says what the text must be, and which entry is wrong. */
export function parseEgressSpecs(text: string): EgressSpec[] {
  const specs = text.split(",").map((entry, i) => {
    const spec = parseSpec(entry.trim());
    if (!spec) throw new Error(`${MUST}; entry ${i + 1} is none of these`);
    return spec;
  });
  const names = specs.map(({ name }) => name);
  const again = names.findIndex((name, i) => names.indexOf(name) !== i);
  if (again >= 0) throw new Error(`${MUST}; entry ${again + 1} has the name of another, ${names[again]}`);
  return specs;
}

/** Rejects with one line where an address among them is none of this machine's. */
export async function assertLocal(specs: readonly EgressSpec[]): Promise<void> {
  for (const spec of specs) {
    if (spec.kind !== "address") continue;
    const server = createServer();
    try {
      server.listen(0, spec.address);
      await once(server, "listening");
    } catch {
      throw new Error(`RELAY_EGRESS: ${spec.address} is not an address of this machine`);
    } finally {
      server.close();
    }
  }
}

function parseSpec(entry: string): EgressSpec | undefined {
  const { name, form = entry } = NAMED.exec(entry)?.groups ?? {};
  const isNamed = name !== undefined;
  if (form === "direct") return { name: name ?? form, isNamed, kind: "direct" };
  const address = LOCAL_ADDRESS.exec(form)?.groups?.address;
  if (address !== undefined) {
    return isIP(address) ? { name: name ?? address, isNamed, kind: "address", address } : undefined;
  }
  const url = form.includes("://") ? URL.parse(form) : null;
  const usualPort = url && DEFAULT_PORTS[url.protocol];
  if (!url?.hostname || usualPort === undefined || !/^\/?$/.test(url.pathname) || url.search || url.hash) {
    return undefined;
  }
  if (!isDecodable(url.username) || !isDecodable(url.password)) return undefined;
  const own = `${url.hostname}:${url.port || usualPort}`;
  return { name: name ?? own, isNamed, kind: "proxy", url: url.href };
}

function isDecodable(text: string | undefined): boolean {
  try {
    decodeURIComponent(text ?? "");
    return true;
  } catch {
    return false;
  }
}
