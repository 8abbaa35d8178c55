/** The files of deploy/ against the code and the documents: versions, metrics, severities, confinement. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { outcome, ROOT } from "../support/command.ts";
import { knownMetrics } from "../support/known-metrics.ts";
import { temporaryFolder } from "../support/store-subject.ts";

const DEPLOY = join(ROOT, "deploy");
const UNITS = ["livechat-relay.service", "livechat-relay@.service", "livechat-edge.service"];

it("the documents and deploy/ name the packages by their version", async () => {
  const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  for (const file of globSync("{*.md,client/*.md,docs/*.md,deploy/Dockerfile*,deploy/*.yaml}", {
    cwd: ROOT,
  })) {
    const text = await readFile(join(ROOT, file), "utf8");
    for (const [, named] of text.matchAll(/livechat-relay(?:-client)?[-:](\d\S*?\d|\S*\*)(?=\.tgz|\s)/g))
      assert.equal(named, version, file);
  }
});

it("the settings and the secret of docs/deployment.md apply as it writes them", async (t) => {
  const credentials = await temporaryFolder(t);
  await writeFile(join(credentials, "admin-token"), "a-token-of-many-letters\n");
  const page = await readFile(join(ROOT, "docs/deployment.md"), "utf8");
  const blocks = [...page.matchAll(/^```ini\n(.*?)^```$/gms)].map(([, block = ""]) => block).join("");
  const given = [...blocks.replaceAll("%d", credentials).matchAll(/^(?:Environment=)?(RELAY_\w+)=(.*)$/gm)];
  const env = Object.fromEntries(given.map(([, name = "", value]) => [name, value]));
  assert.deepEqual(given.length, 4);
  const { code, out, error } = await outcome(["settings"], { env });
  assert.equal(code, 0, error);
  const [admin, ...others] = Object.entries(env).reverse();
  assert.match(out, new RegExp(`^${admin?.[0].replace("_FILE", "")} +file +…$`, "m"));
  for (const [name, value] of others) assert.match(out, new RegExp(`^${name} +variable +${value}$`, "m"));
});

describe("deploy/alerts.yml", () => {
  const alerts = readFileSync(join(DEPLOY, "alerts.yml"), "utf8");

  it("queries existing metrics", () => {
    const known = new Set(knownMetrics().map(({ name }) => name));
    const asked = [...alerts.matchAll(/\brelay_\w+/g)].map(([name]) => name.replace(/_bucket$/, ""));
    assert.ok(asked.length >= (alerts.match(/- alert: /g) ?? []).length - 1);
    for (const name of asked) assert.ok(known.has(name), name);
  });

  it("has the severities that docs/operations.md gives", async () => {
    const severe = [...alerts.matchAll(/- alert: (\w+)\n(?:(?!- alert:)[\s\S])*?severity: critical /g)];
    const page = await readFile(join(ROOT, "docs/operations.md"), "utf8");
    const [sentence = ""] = /^.* the severity `critical` .*?\. /m.exec(page) ?? [];
    assert.deepEqual(
      [...sentence.matchAll(/`(Relay\w+)`/g)].map(([, name]) => name),
      severe.map(([, name]) => name),
    );
    assert.doesNotMatch(alerts, /severity: (?!critical |warning )/);
  });
});

it("all units wait for the reports of the service, and restart one that hangs", async () => {
  for (const unit of UNITS) {
    const text = await readFile(join(DEPLOY, unit), "utf8");
    const reports = [
      "Type=notify",
      "NotifyAccess=all",
      "TimeoutStartSec=infinity",
      "WatchdogSec=60",
      "WatchdogSignal=SIGKILL",
    ];
    for (const line of reports) assert.ok(text.includes(`\n${line}\n`), `${unit}: ${line}`);
  }
});

it("all units confine the service in the same way", async () => {
  const confinement = async (unit: string) =>
    /CapabilityBoundingSet=[\s\S]*/.exec(await readFile(join(DEPLOY, unit), "utf8"))?.[0];
  const [first, ...others] = await Promise.all(UNITS.map(confinement));
  assert.deepEqual(others, [first, first]);
});
