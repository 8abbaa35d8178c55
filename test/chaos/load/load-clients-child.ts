/**
 * Load clients in a process of their own: runs the methods that the parent names, and sends their results.
 */
import { LoadClients } from "./load-clients.ts";

export type Order = keyof LoadClients;

export interface Call {
  id: number;
  order: Order;
  args: readonly unknown[];
}

export type Answer = { id: number; value: unknown } | { id: number; failure: string };

const clients = new LoadClients();

async function answer({ id, order, args }: Call): Promise<Answer> {
  try {
    return { id, value: await Reflect.apply(clients[order], clients, args) };
  } catch (error) {
    return { id, failure: String(error) };
  }
}

process.on("message", (call: Call) => void answer(call).then((answered) => process.send?.(answered)));
process.on("disconnect", () => process.exit());
