/** The edges of a run: processes, each on a line to its origin. The last one follows the first. */
import { Line } from "./line.ts";
import { freePorts, Service } from "./service.ts";

export interface Edge {
  service: Service;
  /** To its origin. */
  line: Line;
}

interface EdgesOptions {
  projectDir: string;
  count: number;
  /** The port of the service that they follow. */
  origin: number;
  settings: Readonly<Record<string, string>>;
}

export async function edgesOf({ projectDir, count, origin, settings }: EdgesOptions): Promise<Edge[]> {
  const ports = await freePorts(count);
  const [first = origin] = ports;
  return await Promise.all(
    ports.map(async (port, index) => {
      const line = await Line.to(index > 0 && index === count - 1 ? first : origin);
      const own = { ...settings, RELAY_ORIGIN: line.url };
      return { line, service: new Service({ projectDir, port, settings: own, command: "edge" }) };
    }),
  );
}
