/** The files of deploy/ for containers: what they start and lead to, as far as it shows without a daemon. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { parse, parseAllDocuments } from "yaml";
import { EDGE_SETTINGS, SETTINGS } from "../../src/cli/setting-table.ts";
import { ROOT } from "../support/command.ts";
import { temporaryFolder } from "../support/store-subject.ts";

const run = promisify(execFile);
const DEPLOY = join(ROOT, "deploy");

describe("deploy/kubernetes.yaml", () => {
  const documents = parseAllDocuments(readFileSync(join(DEPLOY, "kubernetes.yaml"), "utf8")).map((each) =>
    each.toJS(),
  );

  it("is valid for Kubernetes, and has only fields that exist", async (t) => {
    const folder = await temporaryFolder(t);
    await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
    const typed = documents.map(async (document) => {
      const module = `kubernetes-models/${document.apiVersion}/${document.kind}`;
      const { [document.kind]: Model } = await import(module);
      new Model(document).validate(); // values; the compiler finds fields that do not exist
      return `(${JSON.stringify(document)}) satisfies import("${module}").I${document.kind};`;
    });
    await writeFile(join(folder, "typed.ts"), (await Promise.all(typed)).join("\n"));
    const options = ["--noEmit", "--skipLibCheck", "--module", "nodenext", "--types", "", "typed.ts"];
    const { stdout } = await run(join(ROOT, "node_modules/.bin/tsc"), options, { cwd: folder }).catch(
      (failure) => failure,
    );
    assert.equal(stdout, "");
  });

  it("leads the public address, except operator's paths, to the edges, and them to the origin", () => {
    const named = (kind: string, name: string) =>
      documents.find((each) => each.kind === kind && each.metadata.name === name) ??
      assert.fail(`no ${kind} ${name}`);
    const leadsTo = (path: string) => {
      const { paths } = named("Ingress", "livechat-relay").spec.rules[0].http;
      const { backend } = paths.find((each: { path: string }) => each.path === path);
      return named("Service", backend.service.name).spec.selector;
    };
    const edges = named("Deployment", "livechat-edge").spec.template;
    const origin = named("StatefulSet", "livechat-origin").spec.template;
    assert.deepEqual(leadsTo("/"), edges.metadata.labels);
    for (const path of ["/metrics", "/readyz"]) assert.equal(leadsTo(path), undefined, path);
    const [, , url = ""] = edges.spec.containers[0].args;
    const { hostname, port } = new URL(url);
    const service = named("Service", hostname).spec;
    assert.deepEqual(service.selector, origin.metadata.labels);
    assert.equal(service.ports[0].port, Number(port));
  });
});

const PORT = SETTINGS.RELAY_PORT.default;

interface ComposeService {
  image: string;
  command?: string[];
  environment: Record<string, string>;
  ports?: string[];
}

for (const [file, table, ports] of [
  ["compose.yaml", SETTINGS, { relay: 8080 }],
  ["compose.cluster.yaml", SETTINGS, { "relay-1": 8081, "relay-2": 8082, "relay-3": 8083 }],
  ["compose.edge.yaml", EDGE_SETTINGS, { edge: 8080 }],
] as const) {
  it(`${file} has settings that exist, Caddy in front, the operator's on 127.0.0.1`, () => {
    const read = parse(readFileSync(join(DEPLOY, file), "utf8"), { merge: true });
    const { caddy, ...services }: Record<string, ComposeService> = read.services;
    const ours = Object.entries(services).filter(([, { image }]) => image === "livechat-relay");
    for (const [name, { command, environment }] of ours) {
      const names = Object.keys(environment).filter((each) => each !== "PGPASSWORD");
      for (const each of names) assert.ok(Object.hasOwn(table, each), `${name}: ${each}`);
      const rights = environment.RELAY_PUBLIC?.split(",") ?? ["rooms", "probe"];
      if (table === SETTINGS) for (const each of ["rooms", "probe"]) assert.ok(rights.includes(each), each);
      assert.deepEqual(command, table === EDGE_SETTINGS ? ["edge"] : undefined);
    }
    assert.deepEqual(
      Object.fromEntries(ours.map(([name, service]) => [name, service.ports])),
      Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, [`127.0.0.1:${port}:${PORT}`]])),
    );
    const { RELAY_UPSTREAM, RELAY_UPSTREAMS = RELAY_UPSTREAM } = caddy?.environment ?? {};
    assert.deepEqual(
      RELAY_UPSTREAMS?.split(" "),
      Object.keys(ports).map((name) => `${name}:${PORT}`),
    );
  });
}
