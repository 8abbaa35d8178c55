/**
 * The registries of a process's metrics, and functions that create metrics of each kind on them. Which
 * processes report a metric is the choice of its makers: `all`, `reading` or `first`. Units are in the names.
 */
import { Counter, Gauge, Histogram, Registry } from "prom-client";

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

type Makers = ReturnType<typeof makersOn>;

export class MetricMakers {
  readonly registry = new Registry();
  /** Only instances that read chats and store messages have these, so an edge does not. */
  readonly ofReading = new Registry();
  /** Only the first process's values count if there are several: its rooms include the workers'. */
  readonly ofFirst = new Registry();
  readonly all: Makers = makersOn([this.registry]);
  readonly reading: Makers = makersOn([this.registry, this.ofReading]);
  readonly first: Makers = makersOn([this.registry, this.ofFirst]);
}

function makersOn(registers: Registry[]) {
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

  return { counter, counterBy, histogram, gauge };
}
