/** The conformance suite of the Durable Streams protocol, for vitest, against the server in CONFORMANCE_URL. */
import { runConformanceTests } from "@durable-streams/server-conformance-tests";

runConformanceTests({ baseUrl: process.env.CONFORMANCE_URL, subscriptions: true });
