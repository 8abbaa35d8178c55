/** Creates metrics of each kind on given registries. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export interface EgressSource {
  isUp(): boolean;
  queuedCalls(): number;
  cooldownLeftMs(isPage?: boolean): number;
  roomCount(): number;
  roomsCarried(): number;
}

/** `egresses`: by their names. */
export function makersOn(registers: Registry[], egresses: ReadonlyMap<string, EgressSource>) {
  const counter = <Label extends string = never>(
    name: string,
    help: string,
    labelNames: Label[] = [],
    collect?: (this: Counter<Label>) => void,
  ) => new Counter({ name, help, labelNames, registers, ...(collect && { collect }) });

  /**
   * Starts at zero for each value, because an alert on the increase of a new series misses its first count.
   */
  const counterBy = <Label extends string>(
    name: string,
    help: string,
    label: Label,
    values: readonly string[],
  ) => {
    const created = counter(name, help, [label]);
    for (const value of values) created.labels(value).inc(0);
    return created;
  };

  const histogram = <Label extends string = never>(
    name: string,
    help: string,
    labelNames: Label[] = [],
    buckets = SECONDS,
  ) => new Histogram({ name, help, labelNames, buckets, registers });

  /** `read` sets the gauge whenever metrics are collected. */
  const gauge = <Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    read: (gauge: Gauge<Label>) => unknown,
  ) => {
    const collect = async () => void (await read(created));
    const created: Gauge<Label> = new Gauge({ name, help, labelNames, registers, collect });
    return created;
  };

  const egressGauge = (name: string, help: string, read: (egress: EgressSource) => number) =>
    gauge(name, help, ["egress"], (gauge) => {
      for (const [egress, source] of egresses) gauge.set({ egress }, read(source));
    });

  return { counter, counterBy, histogram, gauge, egressGauge };
}
