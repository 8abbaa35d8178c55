/**
 * The servers that all files of a run share, each named by a variable: PostgreSQL and Chromium. A program
 * that is not installed is not started, and a test file starts its own server if it finds none.
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
  if (process.env.RELAY_TEST_CHROMIUM || NO_CHROMIUM) return;
  const browser = running.adopt(await launchChromiumServer(), (started) => started.close());
  process.env.RELAY_TEST_CHROMIUM = browser.wsEndpoint();
}
