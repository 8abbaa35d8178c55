/** The credentials for upstream calls, as pages and service workers contain them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  credentialsInPage,
  credentialsInServiceWorker,
  credentialsInServiceWorkerData,
} from "../../../src/upstream/page/credentials.ts";

const KEY = "made-up-key_0123456789";
const VERSION = "2.20260101.01.00";
const VISITOR = "CgtNYWRlVXA%3D";

describe("the reader of credentials", () => {
  it("reads the key and version in a service worker, whatever its spacing and quotes", () => {
    for (const script of [
      `ytcfg.set({"INNERTUBE_API_KEY":"${KEY}","INNERTUBE_CLIENT_VERSION":"${VERSION}"})`,
      `ytcfg.set({ 'INNERTUBE_API_KEY' : '${KEY}',\n 'INNERTUBE_CONTEXT_CLIENT_VERSION' : '${VERSION}' })`,
      `x={INNERTUBE_API_KEY: "${KEY}", INNERTUBE_CLIENT_VERSION: '${VERSION}'}`,
      `const INNERTUBE_API_KEY = "${KEY}"; self.INNERTUBE_CLIENT_VERSION='${VERSION}';`,
    ]) {
      assert.deepEqual(credentialsInServiceWorker(script), { apiKey: KEY, clientVersion: VERSION }, script);
    }
  });

  it("finds nothing in a stub, an empty body or a page of text", () => {
    for (const script of [
      "",
      "self.registration.unregister()",
      "INNERTUBE_API_KEY",
      '{"INNERTUBE_API_KEY":null}',
    ]) {
      assert.deepEqual(credentialsInServiceWorker(script), {});
      assert.deepEqual(credentialsInPage(script), {});
      assert.deepEqual(credentialsInServiceWorkerData(script), {});
    }
  });

  it("skips a value of the wrong form for the next one of the right form", () => {
    const script = `set({"INNERTUBE_API_KEY":"short","INNERTUBE_CLIENT_VERSION":"2.0 beta","VISITOR_DATA":"a b"})
    set({"INNERTUBE_API_KEY":"${"k".repeat(101)}","INNERTUBE_CONTEXT_CLIENT_VERSION":"${VERSION}"})
    set({"INNERTUBE_API_KEY":"${KEY}","SEND_VISITOR_DATA":true,"EOM_VISITOR_DATA":"other",EOM_VISITOR_DATA:"other"})`;
    assert.deepEqual(credentialsInServiceWorker(script), { apiKey: KEY, clientVersion: VERSION });
  });

  it("reads the positional form by position, and checks each value's form", () => {
    const device: unknown[] = Array.from({ length: 20 }, () => null);
    device[13] = VISITOR;
    device[16] = VERSION;
    const body = (configuration: unknown): string => `)]}'\n${JSON.stringify([[null, null, configuration]])}`;
    assert.deepEqual(credentialsInServiceWorkerData(body([device, KEY])), {
      apiKey: KEY,
      clientVersion: VERSION,
      visitorData: VISITOR,
    });
    assert.deepEqual(credentialsInServiceWorkerData(body([device.with(16, 7).with(13, {}), [KEY]])), {});
    for (const odd of [null, [], "x", [[]], [null, null]]) {
      assert.deepEqual(credentialsInServiceWorkerData(body(odd)), {});
    }
  });

  it("merges all settings of a page, including those that are not JSON", () => {
    const page = `<script>ytcfg.set({"OTHER":{"a":[1]},"INNERTUBE_API_KEY":"${KEY}"});</script>
    <script>ytcfg.set('INNERTUBE_CLIENT_VERSION', '${VERSION}');</script>
    <script>ytcfg.set({CSI: 'youtube', "TIMING": {a: '0x1'}, VISITOR_DATA: "CgtNYWRlVXA\\u0025\\x33D",});</script>`;
    assert.deepEqual(credentialsInPage(page), { apiKey: KEY, clientVersion: VERSION, visitorData: VISITOR });
  });

  it("does not take text that people write in a page for settings", () => {
    const title = `'INNERTUBE_API_KEY':'somebodys-own-key'`;
    const settings = `<script>ytcfg.set({"INNERTUBE_CLIENT_VERSION":"${VERSION}"});</script>`;
    const data = `<script>var ytInitialData = ${JSON.stringify({ contents: title })};</script>`;
    assert.deepEqual(credentialsInPage(data + settings + data), { clientVersion: VERSION });

    const cunning = data.replace("'INNERTUBE", "ytcfg.set('INNERTUBE");
    const real = `<script>ytcfg.set({"INNERTUBE_API_KEY":"${KEY}"});</script>`;
    assert.equal(credentialsInPage(real + cunning).apiKey, KEY);
  });
});
