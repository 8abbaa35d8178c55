/** Whether a port of this machine is a service's, and the URL of one. */
import { urlOf } from "./listener.ts";

/** How long a service on the port may take to answer, in milliseconds. */
const ANSWER_MS = 2000;
/** Addresses to listen on that are all addresses, and none to connect to, with the loopback address. */
const LOOPBACKS: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** The URL at which this machine reaches a service that listens there. */
export function loopbackUrl(host: string, port: number): string {
  return `${urlOf(LOOPBACKS[host] ?? host, port)}/`;
}

/** Whether a service of this kind answers on the port. */
export async function isService(host: string, port: number): Promise<boolean> {
  if (port === 0) return false; // a start takes any free one
  try {
    const answer = await fetch(`${loopbackUrl(host, port)}healthz`, {
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    return answer.ok && (await answer.text()).startsWith('{"status":"alive"');
  } catch {
    return false;
  }
}
