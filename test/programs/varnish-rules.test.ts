/** Streams behind Varnish's built-in rules, without and with what docs/deployment.md adds to them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { it } from "node:test";
import { freePorts } from "../chaos/service.ts";
import { ROOT } from "../support/command.ts";
import { PATIENCE_MS } from "../support/eventually.ts";
import { without } from "../support/needs.ts";
import { listens, startVarnish } from "../support/reverse-proxies.ts";
import { temporaryFolder } from "../support/store-subject.ts";
import { talking, VIDEO } from "../support/talking-log.ts";

/** Within this time nothing comes where Varnish holds a stream back. */
const HELD_BACK_MS = 2000;

it("a reader without gzip gets a stream only if that passes", { skip: without("varnishd") }, async (t) => {
  const { relay } = await talking(t);
  const document = await readFile(join(ROOT, "docs/deployment.md"), "utf8");
  const [, rule = ""] = /```vcl\n(.*?)```/s.exec(document) ?? [];
  assert.match(rule, /return \(pass\)/);
  const backend = `backend default { .host = "127.0.0.1"; .port = "${new URL(relay.url).port}"; }`;
  const behind = async (rules: string) => {
    const [port = 0] = await freePorts(1);
    const { child, way } = await startVarnish(
      await temporaryFolder(t),
      port,
      `vcl 4.1;\n${backend}\n${rules}`,
    );
    t.after(async () => {
      const gone = once(child, "exit");
      child.kill("SIGTERM");
      await gone;
    });
    await listens(way);
    return way.url;
  };
  /** Whether a part of the stream comes in time. */
  const comes = async (url: string, encoding: string, ms: number) => {
    const headers = { "accept-encoding": encoding };
    const asked = request(`${url}/v1/stream?videoId=${VIDEO}&backfill=1`, { agent: false, headers })
      .end()
      .on("error", () => {});
    const signal = AbortSignal.timeout(ms);
    const part = async () => {
      const [answer] = (await once(asked, "response", { signal })) as [IncomingMessage];
      await once(answer, "data", { signal });
      return true;
    };
    const isThere = await part().catch(() => false);
    asked.destroy(); // Varnish waits for it when it stops
    return isThere;
  };
  const [builtIn, documented] = [await behind(""), await behind(rule)];
  assert.equal(await comes(builtIn, "gzip", PATIENCE_MS), true);
  assert.equal(await comes(builtIn, "identity", HELD_BACK_MS), false);
  assert.equal(await comes(documented, "identity", PATIENCE_MS), true);
});
