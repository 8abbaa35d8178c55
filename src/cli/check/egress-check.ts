/** Whether each egress reaches the upstream, by one call each. */
import type { Clock } from "../../base/clock.ts";
import type { Egress } from "../../upstream/egress/egress.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import type { Finding, Tell } from "./finding.ts";

/** Resolves to those that were answered, in their order. Rejects with the reason of `signal`. */
export async function checkEgresses(
  egresses: readonly Egress[],
  clock: Clock,
  tell: Tell,
  signal: AbortSignal,
): Promise<Egress[]> {
  const findings = await Promise.all(egresses.map((egress) => findingOf(egress, clock, signal)));
  for (const finding of findings) tell(finding);
  return egresses.filter((_, index) => findings[index]?.state === "ok");
}

async function findingOf(egress: Egress, clock: Clock, signal: AbortSignal): Promise<Finding> {
  const beganAt = clock.monotonic();
  try {
    await egress.trial(signal, 0);
    const tookMs = Math.round(clock.monotonic() - beganAt);
    return { state: "ok", of: "egress", text: `${egress.name}: answered after ${tookMs} ms` };
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    const { proxy, message } = error;
    const [what, advice] = troubleOf(error);
    const quoted = proxy ? `${proxy.place}: ${proxy.why}` : message;
    return { state: "fail", of: "egress", text: `${egress.name}: ${what}`, quoted, advice };
  }
}

function troubleOf({ fault, unreachable, proxy, wallOf }: UpstreamError): [what: string, advice: string] {
  if (proxy) return ["its proxy gives no connection", "Check the proxy"];
  if (unreachable === "no connection") return ["no connection", "Check the network and the name resolution"];
  if (unreachable === "no answer") return ["no answer in time", "Check the network and its firewall"];
  if (fault === "throttled") return ["YouTube throttles it", "Wait, or add another egress (RELAY_EGRESS)"];
  if (wallOf === "address") return ["YouTube refuses it", "Wait, or use another address (RELAY_EGRESS)"];
  return ["no proper answer", "Try again; if it stays so, use another address (RELAY_EGRESS)"];
}
