/**
 * undici's dispatchers: one pool per host, from the address or through the proxy of a spec. Loaded at the
 * first call, and with it all of undici: proxies need methods that only its entry adds to its classes.
 */
import { isIP } from "node:net";
import { Agent, type Dispatcher, EnvHttpProxyAgent, Pool, ProxyAgent, Socks5ProxyAgent } from "undici";
import type { EgressSpec } from "./spec.ts";

const CONNECT_TIMEOUT_MS = 5000;
// HTTP/1.1: aborting a call closes only its own connection. With HTTP/2 all calls share one connection: if
// it goes silent, all of them fail until it is closed.
const OPTIONS = { connect: { timeout: CONNECT_TIMEOUT_MS }, allowH2: false };
/** Connections to an HTTP proxy for tunnels: undici would wait five minutes for the answer to CONNECT. */
const TUNNELS = {
  clientFactory: (proxy: URL, options: object) =>
    new Pool(proxy, { ...options, headersTimeout: CONNECT_TIMEOUT_MS }),
};

/** For loopback addresses, and for all others. */
export interface Dispatchers {
  inner: Dispatcher;
  outer: Dispatcher;
}

/** A direct spec uses the environment's proxy, if any, but never for loopback addresses. */
export function dispatchersOf(spec: EgressSpec): Dispatchers {
  const outer = dispatcherOf(spec);
  return { inner: spec.kind === "direct" ? new Agent(OPTIONS) : outer, outer };
}

function dispatcherOf(spec: EgressSpec): Dispatcher {
  switch (spec.kind) {
    case "direct":
      return new EnvHttpProxyAgent({ ...OPTIONS, ...TUNNELS });
    case "address": {
      const connect = { ...OPTIONS.connect, family: isIP(spec.address) }; // the other family is not tried
      return new Agent({ ...OPTIONS, localAddress: spec.address, connect });
    }
    case "proxy": {
      if (spec.url.startsWith("socks5:"))
        return new Socks5ProxyAgent(spec.url, { requestTls: OPTIONS.connect });
      const tls = { requestTls: OPTIONS.connect, proxyTls: OPTIONS.connect };
      // A tunnel for any scheme of the upstream, so that the proxy neither reads nor answers anything.
      return new ProxyAgent({ uri: spec.url, proxyTunnel: true, allowH2: false, ...TUNNELS, ...tls });
    }
  }
}
