/** `/v1/recordings`: what holders of the token may list, add and delete while the service runs. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { startSimulator } from "../../simulator/index.ts";
import { outcome } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startRelay, type TestRelay } from "../support/relay.ts";
import { temporaryFile } from "../support/store-subject.ts";

const TOKEN = "a-token-of-many-letters";
const VIDEO = "recorded-ab";
const TEXT = { kinds: ["text"] } as const;

interface Listed {
  name: string;
  since: string;
  state: string;
  videoId?: string;
  error?: string;
  fixed: boolean;
}

const settings = (t: object = {}) => ({ RELAY_ADMIN_TOKEN: TOKEN, ...t });

async function call({ url }: TestRelay, method: string, name = "", token: string | null = TOKEN, query = "") {
  const path = `/v1/recordings${name && `/${encodeURIComponent(name)}`}${query}`;
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}${path}`, { method, headers });
  const text = await response.text();
  return { response, status: response.status, body: text === "" ? undefined : JSON.parse(text) };
}

async function list(relay: TestRelay): Promise<Listed[]> {
  const { status, body } = await call(relay, "GET");
  assert.equal(status, 200);
  return body.recordings;
}

const stateOf = async (relay: TestRelay, name: string) =>
  (await list(relay)).find((one) => one.name === name)?.state;

describe("recordings while the service runs", () => {
  it("do not exist without a token in the settings", async () => {
    await using relay = await startRelay();
    for (const method of ["GET", "PUT", "DELETE"]) {
      const { status, body } = await call(relay, method, method === "GET" ? "" : VIDEO);
      assert.deepEqual([status, body.code], [404, "NOT_FOUND"], method);
    }
  });

  it("are refused without the token, and change nothing", async () => {
    await using relay = await startRelay({ settings: settings() });
    for (const token of [null, "", "another-token-of-letters", TOKEN.slice(1), `${TOKEN}x`]) {
      for (const [method, name] of [
        ["GET", ""],
        ["PUT", VIDEO],
        ["DELETE", VIDEO],
      ] as const) {
        const { response, status, body } = await call(relay, method, name, token);
        assert.deepEqual([status, body.code], [401, "UNAUTHORIZED"], `${method} ${token}`);
        assert.match(
          body.message,
          token !== null ? /^The token is not the service's/ : /^This needs a token: send it in the header/,
        );
        assert.equal(response.headers.get("www-authenticate"), "Bearer");
      }
    }
    assert.deepEqual(await list(relay), []);
  });

  it("are created once per name, in one form of it, and record chats without viewers", async () => {
    await using relay = await startRelay({ settings: settings() });
    const chat = relay.upstream.chat(VIDEO, TEXT);
    chat.say(2);
    const from = Date.now();
    assert.equal((await call(relay, "PUT", `https://youtu.be/${VIDEO}`)).status, 201);
    const until = Date.now();
    assert.equal((await call(relay, "PUT", VIDEO)).status, 200);
    await eventually("recording", () => stateOf(relay, VIDEO));
    const [recording, ...others] = await list(relay);
    assert.partialDeepStrictEqual(recording, { name: VIDEO, videoId: VIDEO, fixed: false });
    const since = Date.parse(recording?.since ?? "");
    assert.ok(since >= from && since <= until, `${recording?.since}`);
    assert.deepEqual(others, []);
    chat.end("reload-only");
    await eventually("ended", () => stateOf(relay, VIDEO));
    const { messages } = (await (await fetch(`${relay.url}/v1/messages?videoId=${VIDEO}`)).json()) as {
      messages: object[];
    };
    assert.equal(messages.length, 2);
  });

  it("say why they wait", async () => {
    await using relay = await startRelay({ settings: settings() });
    await call(relay, "PUT", "recorded-no");
    await eventually(true, async () => (await list(relay))[0]?.error !== undefined);
    assert.equal((await list(relay))[0]?.state, "waiting");
  });

  it("of a channel say why its pages cannot be read, also in a terminal", async () => {
    await using relay = await startRelay({ settings: settings({ RELAY_RECORD: "@demo" }) });
    relay.upstream.channel("@demo");
    relay.upstream.channel("@quiet");
    const pages = { on: ["live", "streams"], channel: "@demo" } as const;
    relay.upstream.fault({ ...pages, times: Number.POSITIVE_INFINITY, as: { status: 503 } });
    await call(relay, "PUT", "@quiet");
    await eventually("failed", () => stateOf(relay, "@demo"));
    const [failed, quiet] = await list(relay);
    assert.deepEqual(failed?.error, "/@/streams: HTTP 503.");
    assert.deepEqual([quiet?.state, quiet?.error], ["waiting", undefined]);
    const env = { RELAY_URL: relay.url, RELAY_ADMIN_TOKEN: TOKEN };
    const { out } = await outcome(["record", "list"], { env });
    assert.match(out, /\n@demo +failed +- .* yes +\/@\/streams: HTTP 503\.\n/);
    assert.match(out, /\n@quiet +waiting +- .* no +-\n/);
  });

  it("stop when they are deleted: the room is left to its grace time", async () => {
    await using relay = await startRelay({ settings: settings() });
    relay.upstream.chat(VIDEO, TEXT).say(1);
    await call(relay, "PUT", VIDEO);
    await eventually("recording", () => stateOf(relay, VIDEO));
    assert.equal((await call(relay, "DELETE", VIDEO)).status, 204);
    assert.equal((await call(relay, "DELETE", VIDEO)).status, 404);
    const stateOfRoom = async () => {
      const { rooms } = (await (await fetch(`${relay.url}/v1/rooms`)).json()) as {
        rooms: { state: string }[];
      };
      return rooms[0]?.state;
    };
    await eventually("lingering", stateOfRoom);
    assert.deepEqual(await list(relay), []);
  });

  it("from the settings are fixed", async () => {
    await using relay = await startRelay({ settings: settings({ RELAY_RECORD: VIDEO }) });
    relay.upstream.chat(VIDEO, TEXT).say(1);
    assert.partialDeepStrictEqual(await list(relay), [{ name: VIDEO, fixed: true }]);
    assert.equal((await call(relay, "PUT", VIDEO)).status, 200);
    const { status, body } = await call(relay, "DELETE", VIDEO);
    assert.deepEqual([status, body.code], [409, "CONFLICT"]);
    assert.equal((await list(relay)).length, 1);
  });

  it("are taken up after a restart", async (t: TestContext) => {
    const store = `sqlite:${await temporaryFile(t)}`;
    await using upstream = await startSimulator();
    const chat = upstream.chat(VIDEO, TEXT);
    const options = { upstream, settings: settings({ RELAY_STORE: store }) };
    {
      await using relay = await startRelay(options);
      await call(relay, "PUT", VIDEO);
      await eventually("recording", () => stateOf(relay, VIDEO));
    }
    await using relay = await startRelay(options);
    await eventually("recording", () => stateOf(relay, VIDEO));
    chat.say(1);
    chat.end("reload-only");
    await eventually("ended", () => stateOf(relay, VIDEO));
  });

  it("refuse a name that is neither a video nor a channel", async () => {
    await using relay = await startRelay({ settings: settings() });
    const { status, body } = await call(relay, "PUT", "no such thing");
    assert.deepEqual([status, body.code], [400, "INVALID_REQUEST"]);
  });

  it("are described with the statuses that each method answers", async () => {
    await using relay = await startRelay({ settings: settings() });
    const { paths } = JSON.parse(await (await fetch(`${relay.url}/v1/openapi.json`)).text());
    const { put, delete: remove } = paths["/v1/recordings/{name}"];
    assert.deepEqual(Object.keys(put.responses), ["200", "201", "400", "401", "403", "503"]);
    assert.deepEqual(Object.keys(remove.responses), ["204", "400", "401", "403", "404", "409", "503"]);
    assert.equal(put.responses[503].description, "CAPACITY or STORE_UNAVAILABLE");
    assert.equal(remove.responses[503].description, "STORE_UNAVAILABLE");
  });

  it("have no body, so that any body is ignored", async () => {
    await using relay = await startRelay({ settings: settings() });
    const url = `${relay.url}/v1/recordings/${VIDEO}`;
    for (const [type, body] of [
      ["application/json", ""],
      ["application/json", "{"],
      ["application/x-www-form-urlencoded", ""],
      ["text/plain", "record this"],
    ] as const) {
      const headers = { authorization: `Bearer ${TOKEN}`, "content-type": type };
      assert.equal((await fetch(url, { method: "PUT", headers, body })).status, 201, type);
      assert.equal((await fetch(url, { method: "DELETE", headers, body })).status, 204, type);
    }
  });

  it("refuse query parameters, and then change nothing", async () => {
    await using relay = await startRelay({ settings: settings() });
    await call(relay, "PUT", VIDEO);
    for (const [method, name] of [
      ["GET", ""],
      ["PUT", "recorded-no"],
      ["DELETE", VIDEO],
    ] as const) {
      const { status, body } = await call(relay, method, name, TOKEN, "?force=true");
      assert.deepEqual([status, body.code], [400, "INVALID_REQUEST"], method);
      assert.equal(body.message, "force: is not a parameter of this endpoint.");
    }
    assert.partialDeepStrictEqual(await list(relay), [{ name: VIDEO }]);
    assert.equal((await list(relay)).length, 1);
  });

  describe("from a terminal", () => {
    const record = (url: string, ...args: string[]) =>
      outcome(["record", ...args], { env: { RELAY_URL: url, RELAY_ADMIN_TOKEN: TOKEN } });

    it("are added, with a warning that their messages will be deleted, and listed", async () => {
      await using relay = await startRelay({ settings: settings() });
      relay.upstream.chat(VIDEO, TEXT).say(1);
      const added = await record(relay.url, "add", VIDEO);
      assert.deepEqual([added.code, added.out], [0, ""], added.error);
      assert.match(
        added.error,
        /: recorded-ab is recorded\n.*messages are deleted after 30 days: to keep them, .*=0, or /s,
      );
      await eventually("recording", () => stateOf(relay, VIDEO));
      const { code, out } = await record(relay.url, "list");
      assert.equal(code, 0);
      assert.match(out, /^NAME +STATE +VIDEO +SINCE +FIXED +ERROR\n/);
      assert.match(out, new RegExp(`\\n${VIDEO} +recording +${VIDEO} .* no +-\\n$`));
    });

    it("are removed once", async () => {
      await using relay = await startRelay({ settings: settings() });
      relay.upstream.chat(VIDEO, TEXT).say(1);
      assert.equal((await record(relay.url, "add", VIDEO)).code, 0);
      await eventually("recording", () => stateOf(relay, VIDEO));
      assert.equal((await record(relay.url, "remove", VIDEO)).code, 0);
      const gone = await record(relay.url, "remove", VIDEO);
      assert.equal(gone.code, 1);
      assert.match(gone.error, /NOT_FOUND: There is no recording of recorded-ab/);
    });

    it("are refused to another RELAY_ADMIN_TOKEN, in words that name it", async () => {
      await using relay = await startRelay({ settings: settings() });
      const env = { RELAY_URL: relay.url, RELAY_ADMIN_TOKEN: "of-another-service" };
      for (const args of [["list"], ["add", VIDEO]]) {
        const { code, error } = await outcome(["record", ...args], { env });
        assert.equal(code, 1);
        assert.match(
          error,
          /UNAUTHORIZED: The token is not the service's\. \(here: the token is RELAY_ADMIN_TOKEN or --admin-token\)\n$/,
        );
      }
    });

    it("are not asked for by a wrong command, or without a token", async () => {
      const nobody = "http://127.0.0.1:1";
      for (const args of [["lst"], ["add"], ["list", VIDEO], []])
        assert.equal((await record(nobody, ...args)).code, 2, args.join(" "));
      assert.equal((await outcome(["record", "list"], { env: { RELAY_URL: nobody } })).code, 2);
    });
  });

  it("are refused by a service that accepts no tokens", async () => {
    await using relay = await startRelay();
    const env = { RELAY_URL: relay.url, RELAY_ADMIN_TOKEN: TOKEN };
    for (const args of [["list"], ["add", "@handle"], ["remove", VIDEO]]) {
      const { code, error } = await outcome(["record", ...args], { env });
      assert.equal(code, 1);
      assert.match(
        error,
        /NOT_FOUND: This service has no \/v1\/recordings: nobody has its right, record, here, or it is an edge/,
      );
    }
  });
});
