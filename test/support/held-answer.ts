/** Upstream answers that wait for something that a test does, where a delay would be a race. */
import type { Failure } from "../../simulator/faults.ts";

/** The right answer, once what `isDue` returns has resolved; over HTTP alone. */
export function heldAnswer(isDue: () => Promise<unknown>): Failure {
  return {
    answer: async (response, real) => {
      await isDue();
      const { status, headers, body } = real();
      response.writeHead(status, headers).end(body);
    },
  };
}
