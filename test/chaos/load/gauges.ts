/**
 * What can be seen of the service from outside: its own metrics, and what the kernel holds for all TCP
 * sockets.
 */
import { readFile } from "node:fs/promises";
import type { Report } from "./report.ts";

const PAGE_BYTES = 4096;
const PATIENCE_MS = 30_000;

export interface Gauges {
  viewers: number;
  /** Pages read from the store for viewers. */
  pageReads: number;
  rssBytes: number;
  openFiles: number;
  cpuSeconds: number;
  /** The longest delay of its event loop since the last look. */
  loopLagMs: number;
  /** Held by the kernel for all sockets of the machine; unknown outside Linux. */
  tcpBytes: number;
}

/**
 * What the service's metrics say, by name. Rejects where it does not answer; the reader throws where it lacks
 * one.
 */
export async function readMetrics(service: string): Promise<(name: string, labels?: string) => number> {
  const request = { headers: { connection: "close" }, signal: AbortSignal.timeout(PATIENCE_MS) };
  const text = await (await fetch(`${service}/metrics`, request)).text();
  const lines = new Map(text.split("\n").map((line) => [line.split(" ")[0], line.split(" ")[1]]));
  return (name, labels = "") => {
    if (!text.includes(`# TYPE ${name} `)) throw new Error(`the service does not report ${name}`);
    return Number(lines.get(name + labels) ?? 0); // with a label there is no line before it happens
  };
}

export async function readGauges(service: string): Promise<Gauges> {
  const value = await readMetrics(service);
  return {
    viewers: value("relay_viewers"),
    pageReads: value("relay_store_operations_total", '{kind="read"}'),
    rssBytes: value("process_resident_memory_bytes"),
    openFiles: value("process_open_fds"),
    cpuSeconds: value("process_cpu_seconds_total"),
    loopLagMs: value("nodejs_eventloop_lag_max_seconds") * 1000,
    tcpBytes: await kernelTcpBytes(),
  };
}

/** What it cost a service that has run since `before`, or since its start. */
export function reportCosts(before: Gauges | undefined, after: Gauges, report: Report): void {
  report.figure("service's CPU, s", after.cpuSeconds - (before?.cpuSeconds ?? 0));
  report.figure("longest delay of its event loop, ms", after.loopLagMs);
  report.figure("store reads", after.pageReads - (before?.pageReads ?? 0));
}

async function kernelTcpBytes(): Promise<number> {
  const text = await readFile("/proc/net/sockstat", "utf8").catch(() => "");
  return Number(/^TCP:.* mem (\d+)/m.exec(text)?.[1] ?? Number.NaN) * PAGE_BYTES;
}
