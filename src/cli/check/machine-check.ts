/** Settings, store, port and open files, as a start would find them. Makes no call to the upstream. */
import { messageOf } from "../../base/error-message.ts";
import { inspectStore, StoreOpenError } from "../../store/open.ts";
import { storeKind } from "../../store/port.ts";
import type { StoreSummary } from "../../store/store-summary.ts";
import { HttpConnections } from "../../upstream/egress/connections.ts";
import type { Config } from "../config.ts";
import type { AppliedSetting } from "../flags.ts";
import { Port } from "../listener.ts";
import { openFilesFor } from "../open-files.ts";
import { isService } from "../service-on-port.ts";
import { sizeOf, type Tell } from "./finding.ts";

/** As in the alert RelayDiskLow. */
const LOW_BYTES = 2e9;
/** With less, SQLite does not open the file. */
const LEAST_BYTES = 64 * 1024;

/** `mistakes`: a line for each variable that has no effect. */
export async function checkMachine(
  config: Config,
  settings: readonly AppliedSetting[],
  mistakes: readonly string[],
  tell: Tell,
): Promise<void> {
  const changed = settings.filter(({ isDefault }) => !isDefault).map(({ name }) => name);
  const text = changed.length === 0 ? "valid, all have their defaults" : `valid; set: ${changed.join(", ")}`;
  tell({ state: "ok", of: "settings", text });
  for (const text of mistakes) tell({ state: "warn", of: "settings", text });
  checkProxies(config, tell);
  await checkStore(config, tell);
  await checkPort(config, tell);
  checkFiles(config, tell);
}

/** The proxies of the environment, which a direct egress uses. */
function checkProxies({ upstream }: Config, tell: Tell): void {
  try {
    for (const spec of upstream.specs) new HttpConnections(spec); // connects at its first request
  } catch (error) {
    tell({ state: "fail", of: "settings", text: "a proxy cannot be used", quoted: messageOf(error) });
  }
}

async function checkStore({ storeUrl, maxStoreBytes }: Config, tell: Tell): Promise<void> {
  try {
    const summary = await inspectStore(storeUrl);
    if (storeKind(storeUrl) === "memory")
      tell({ state: "ok", of: "store", text: "in memory: it is lost at the exit" });
    else tellStore(summary, maxStoreBytes, tell);
  } catch (error) {
    if (!(error instanceof StoreOpenError)) throw error;
    tell({ state: "fail", of: "store", text: "the service cannot start on it", quoted: error.message });
  }
}

/** Reports what can be seen of a store. */
export function tellStore(summary: StoreSummary, maxBytes: number, tell: Tell): void {
  const { place, schema, known, rooms, bytes, freeBytes, isInUse, isForeign } = summary;
  const store = { of: "store", quoted: place } as const;
  const free = freeBytes === undefined ? "" : `, ${sizeOf(freeBytes)} free on its disk`;
  const use = isInUse ? "; a running service has it, so it was only looked at" : "";
  const what =
    schema === undefined ? "new, the start makes it" : `schema ${schema}, ${rooms} rooms, ${sizeOf(bytes)}`;
  tell({ ...store, state: "ok", text: `${what}${free}${use}` });
  if (schema !== undefined && schema < known)
    tell({
      state: "warn",
      of: "store",
      text: `the next start upgrades it to schema ${known}`,
      advice: "Make a backup first: an older version cannot use it afterwards",
    });
  if (isForeign)
    tell({
      ...store,
      state: "warn",
      text: "its file does not belong to the owner of its folder",
      advice: "If the service runs as the folder's owner, give it the file (chown --reference=FOLDER FILE)",
    });
  if (freeBytes !== undefined && freeBytes < LOW_BYTES) {
    const isDiskFull = freeBytes < LEAST_BYTES;
    tell({
      state: isDiskFull ? "fail" : "warn",
      of: "store",
      advice: "Free space, or lower RELAY_RETENTION_DAYS",
      text: isDiskFull
        ? "its disk is full: the service cannot start"
        : `less than ${sizeOf(LOW_BYTES)} are free on its disk`,
    });
  }
  if (maxBytes > 0 && bytes >= maxBytes)
    tell({
      state: "warn",
      of: "store",
      text: `it has reached RELAY_MAX_STORE_BYTES, ${sizeOf(maxBytes)}`,
      advice: "Raise the limit, or lower RELAY_RETENTION_DAYS",
    });
}

async function checkPort(config: Config, tell: Tell): Promise<void> {
  const { host, port, workers } = config;
  const of = { of: "port", quoted: `${host} port ${port}` } as const;
  if (workers > 1) return tell({ ...of, state: "ok", text: "not tried, as several processes share it" });
  try {
    await new Port(config).assertFree();
    tell({ ...of, state: "ok", text: "free" });
  } catch (error) {
    if (await isService(host, port)) tell({ ...of, state: "ok", text: "a running service answers there" });
    else tell({ ...of, state: "fail", text: "not free", quoted: messageOf(error) });
  }
}

function checkFiles(config: Config, tell: Tell): void {
  const { files, wanted, viewers, connections } = openFilesFor(config);
  const limit = Number.isFinite(files)
    ? `${files} open files, of which clients may have ${connections}`
    : "no limit";
  if (viewers >= wanted) tell({ state: "ok", of: "files", text: limit });
  else
    tell({
      state: "warn",
      of: "files",
      text: `${limit}: RELAY_MAX_VIEWERS is lowered from ${wanted} to ${viewers}`,
      advice: "Raise the limit (ulimit -n 65536, or LimitNOFILE=65536 in a unit)",
    });
}
