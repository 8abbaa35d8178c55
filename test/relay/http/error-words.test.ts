/**
 * The words of errors are for callers and viewers, who cannot change a setting: they name none. The log,
 * which is for the operator, does.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { pino } from "pino";
import { atCapacity, CAPACITY_CAUSES, type CapacityCause } from "../../../src/protocol/capacity.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { type Answer, ask } from "../../support/api.ts";
import { startRelay } from "../../support/relay.ts";
import { SECRET } from "../../support/tokens.ts";

const VIDEO = "error-words";
const ADMIN = "a-token-of-many-letters";
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** Requests that are refused because of how the service was set up, by its settings. */
const REFUSED: [settings: Record<string, string>, method: string, path: string, init?: RequestInit][] = [
  [{}, "GET", "/v1/recordings"],
  [{ RELAY_PUBLIC: "none" }, "GET", `/v1/stream?videoId=${VIDEO}`],
  [{ RELAY_PUBLIC: "watch" }, "POST", "/v1/probe"],
  [{ RELAY_PUBLIC: "watch:@mine" }, "GET", `/v1/stream?videoId=${VIDEO}`],
  [{ RELAY_PUBLIC: "none", RELAY_ADMIN_TOKEN: ADMIN }, "GET", `/v1/stream?videoId=${VIDEO}`],
  [{ RELAY_PUBLIC: "none", RELAY_ADMIN_TOKEN: ADMIN }, "GET", "/v1/rooms", bearer("another")],
  [{ RELAY_PUBLIC: "none", RELAY_TOKEN_KEY: SECRET }, "GET", "/v1/rooms", bearer("another")],
  [{ RELAY_ADMIN_TOKEN: ADMIN, RELAY_RECORD: "@mine" }, "DELETE", "/v1/recordings/@mine", bearer(ADMIN)],
];

for (const [settings, method, path, init] of REFUSED)
  it(`${method} ${path} with ${JSON.stringify(settings)} is refused without the name of a setting`, async () => {
    await using relay = await startRelay({ settings });
    const { status, body }: Answer<{ message?: string }> = await ask(relay.url, path, { ...init, method });
    assert.ok(status >= 400, `${status}`);
    assert.doesNotMatch(body.message ?? assert.fail("no message"), /RELAY_/);
  });

for (const cause of Object.keys(CAPACITY_CAUSES) as CapacityCause[])
  it(`CAPACITY because of ${cause} names its setting in the log alone`, () => {
    const log: string[] = [];
    const telemetry = new Telemetry(pino({ level: "warn" }, { write: (line) => void log.push(line) }));
    const error = atCapacity(cause);
    assert.doesNotMatch(error.message, /RELAY_/);
    telemetry.requests.atCapacity(error);
    const [line = ""] = log;
    const { setting } = { setting: undefined, ...CAPACITY_CAUSES[cause] };
    assert.equal(JSON.parse(line).setting, setting);
    if (setting !== undefined) assert.match(setting, /^RELAY_/);
  });
