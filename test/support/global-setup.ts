/**
 * What all files of a run share, each told to them by a variable: a PostgreSQL server, and Chromium. What is
 * not installed is not started, and what a test file does not find it starts for itself.
 */
import { launchChromiumServer, NO_CHROMIUM } from "./browser.ts";
import { noOwnPostgres, startInstalled } from "./postgres-server.ts";

const running = new AsyncDisposableStack();

export async function globalSetup(): Promise<void> {
  await Promise.all([sharePostgres(), shareChromium()]);
}

export async function globalTeardown(): Promise<void> {
  await running.disposeAsync();
}

async function sharePostgres(): Promise<void> {
  if (process.env.RELAY_TEST_POSTGRES || noOwnPostgres()) return;
  const server = running.adopt(await startInstalled(), (started) => started.remove());
  process.env.RELAY_TEST_POSTGRES = server.url;
}

async function shareChromium(): Promise<void> {
  if (NO_CHROMIUM) return;
  const browser = running.adopt(await launchChromiumServer(), (started) => started.close());
  process.env.RELAY_TEST_CHROMIUM = browser.wsEndpoint();
}
