/**
 * The file for the maintainers: the lines of a check and the forms of the upstream's answers, without names,
 * texts and tokens, and without the addresses of this machine.
 */
import { commit } from "../../base/commit.ts";
import { VERSION } from "../../base/own-files.ts";
import { calledPath, clientIn } from "./exchange-finding.ts";
import type { LoggedExchange } from "./exchange-log.ts";
import { type Finding, lineOf } from "./finding.ts";
import { reducedBody } from "./reduced.ts";

/** Hosts to which the upstream may lead; others are not named. */
const UPSTREAM_HOST = /(?:^|\.)(?:youtube|google|googlevideo)\.com$/;

export function reportOf(
  videoId: string,
  findings: readonly Finding[],
  exchanges: readonly LoggedExchange[],
  now: number,
): string {
  const { versions, platform, arch } = process;
  const report = {
    program: { version: VERSION, commit: commit(), node: versions.node, platform, arch },
    at: new Date(now).toISOString(),
    videoId,
    findings: findings.map(({ quoted: _, ...own }) => lineOf(own).trimEnd()),
    exchanges: exchanges.map(reducedExchange),
  };
  return `${JSON.stringify(report, undefined, 1)}\n`;
}

function reducedExchange(exchange: LoggedExchange): object {
  const { request, answer, tookMs } = exchange;
  const asked = { method: request.method, path: calledPath(exchange), client: clientIn(exchange), tookMs };
  if (!answer) return { ...asked, answer: "none" };
  const { status, text, header } = answer;
  const type = /^[\w/+.-]{1,60}/.exec(header("content-type") ?? "")?.[0];
  const location = header("location");
  const host = location === undefined ? undefined : URL.parse(location, request.url)?.hostname;
  return {
    ...asked,
    answer: {
      status,
      type,
      retryAfter: /^\d{1,9}$/.exec(header("retry-after") ?? "")?.[0],
      leadsTo: host === undefined || UPSTREAM_HOST.test(host) ? host : "…",
      length: text.length,
      body: reducedBody(text),
    },
  };
}
