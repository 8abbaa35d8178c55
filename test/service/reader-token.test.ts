/** The token that the commands send to a service, from the environment or a file, and to nobody else. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  type Answer,
  AnsweringServer,
  cuts,
  END,
  init,
  messages,
  refuses,
  streams,
} from "../support/answering-server.ts";
import { outcome } from "../support/command.ts";
import { temporaryFile, temporaryFolder } from "../support/store-subject.ts";

const VIDEO = "dQw4w9WgXcQ";
const TOKEN = "a-token.of-three.parts";
const WHOLE = streams(init(0), messages(1, 3), END);
const REFUSED = refuses(401, { code: "UNAUTHORIZED", message: "The token has expired." });
const EMPTY = refuses(200, { retentionDays: 0, rooms: [], rows: [], recordings: [], messages: [] });

async function fileWith(t: Parameters<typeof temporaryFile>[0], token: string): Promise<string> {
  const path = await temporaryFile(t);
  await writeFile(path, `${token}\n`);
  return path;
}

/** The tokens that the commands' requests carried. */
const sentTo = ({ calls }: AnsweringServer) => calls.map(({ headers }) => headers.authorization);

describe("the token of a command", () => {
  const commands: [args: string[], ...answers: Answer[]][] = [
    [["watch", VIDEO, "--json"], WHOLE],
    [["watch", "@somebody"], refuses(404, { code: "NOT_FOUND", message: "none" })],
    [["export", VIDEO], WHOLE],
    [["export", VIDEO, "--from", "2h"], EMPTY],
    [["probe", VIDEO], EMPTY],
    [["rooms"], EMPTY],
    [["record", "list"], EMPTY],
    [["record", "add", VIDEO], EMPTY],
  ];
  for (const [args, ...answers] of commands) {
    it(`is sent by ${args.join(" ")}, from RELAY_TOKEN or a file`, async (t) => {
      await using server = await AnsweringServer.start(...answers);
      const env = { RELAY_URL: server.url };
      const ofVariable = await outcome(args, { env: { ...env, RELAY_TOKEN: TOKEN } });
      const ofFile = await outcome([...args, "--token-file", await fileWith(t, "of-a-file")], {
        env: { ...env, RELAY_TOKEN: TOKEN },
      });
      const [first, ...more] = sentTo(server);
      assert.deepEqual([first, more.at(-1)], [`Bearer ${TOKEN}`, "Bearer of-a-file"]);
      for (const { out, error } of [ofVariable, ofFile]) assert.doesNotMatch(out + error, /of-a-file|three/);
    });
  }

  it("is sent with each request of an export into a folder, and when a file is continued", async (t) => {
    const output = join(await temporaryFolder(t), "out/");
    const rooms = refuses(200, { retentionDays: 0, rooms: [{ videoId: VIDEO, messages: 1 }] });
    const page = refuses(200, { base: 0, floor: 0, head: 3, messages: [{ cursor: 3, id: "3" }], prev: null });
    const byPath = new Map([
      ["/v1/rooms", rooms],
      ["/v1/messages", page],
    ]);
    await using server = await AnsweringServer.start((response, call) =>
      (byPath.get(call.path.split("?")[0] ?? "") ?? WHOLE)(response, call),
    );
    const options = { env: { RELAY_URL: server.url, RELAY_TOKEN: TOKEN } };
    await outcome(["export", "--all", "--output", output], options);
    await outcome(["export", VIDEO, "--output", join(output, `${VIDEO}.jsonl`), "--append"], options);
    assert.ok(server.calls.some(({ path }) => path.startsWith("/v1/messages")));
    assert.deepEqual(new Set(sentTo(server)), new Set([`Bearer ${TOKEN}`]));
  });

  it("is read again from its file before each connection, so a watch outlives its first one", async (t) => {
    const path = await fileWith(t, "first");
    const answer: Answer = async (response, call) => {
      await writeFile(path, "second");
      cuts(init(0), messages(1, 2))(response, call);
    };
    await using server = await AnsweringServer.start(answer, streams(init(2), messages(3, 3), END));
    const args = ["watch", VIDEO, "--json", "--server", server.url, "--token-file", path];
    const { code } = await outcome(args);
    assert.deepEqual([sentTo(server), code], [["Bearer first", "Bearer second"], 0]);
  });

  it("ends a stream of watch, which says that it reconnects", async (t) => {
    const ends: Answer = (response) =>
      response.writeHead(200, { "content-type": "text/event-stream" }).end(init(0) + messages(1, 2));
    await using server = await AnsweringServer.start(ends, streams(init(2), messages(3, 3), END));
    const path = await fileWith(t, "a-token");
    const args = ["watch", VIDEO, "--json", "--server", server.url, "--token-file", path];
    const { code, error } = await outcome(args);
    assert.match(error, /The connection was cut; reconnecting\n.*connected\n/s);
    assert.deepEqual([sentTo(server).length, code], [2, 0]);
  });

  it("does not go to a webhook", async (t) => {
    await using server = await AnsweringServer.start(WHOLE);
    await using hook = await AnsweringServer.start(refuses(204, ""));
    const file = join(await temporaryFolder(t), "cursor");
    const args = ["watch", VIDEO, "--post", hook.url, "--cursor-file", file];
    await outcome(args, { env: { RELAY_URL: server.url, RELAY_TOKEN: TOKEN } });
    assert.equal(hook.calls.length, 3);
    for (const { headers, body } of hook.calls)
      assert.doesNotMatch(JSON.stringify([headers, body]), new RegExp(TOKEN));
  });

  it("is asked for if the service refuses a request without one", async () => {
    await using server = await AnsweringServer.start(REFUSED);
    for (const args of [["watch", VIDEO], ["export", VIDEO], ["probe", VIDEO], ["rooms"]]) {
      const { code, error } = await outcome(args, { env: { RELAY_URL: server.url } });
      assert.equal(code, 1);
      assert.match(
        error,
        /UNAUTHORIZED: The token has expired\. \(here: set RELAY_TOKEN, .*--token-file\)\n$/,
      );
    }
  });

  it("is refused in the service's words, without the token", async () => {
    await using server = await AnsweringServer.start(REFUSED);
    const env = { RELAY_URL: server.url, RELAY_TOKEN: TOKEN };
    const { error } = await outcome(["watch", VIDEO], { env });
    assert.equal(error, "livechat-relay: UNAUTHORIZED: The token has expired.\n");
  });

  const unusable: [what: string, token: string][] = [
    ["with a space", "secret token"],
    ["of two lines", "secret\ntoken"],
    ["with letters that no header takes", "secret-tökén"],
  ];
  for (const [what, token] of unusable) {
    it(`${what} is refused before a request, and not shown`, async (t) => {
      const path = await fileWith(t, token);
      const ofVariable = await outcome(["rooms"], { env: { RELAY_TOKEN: token } });
      const ofFile = await outcome(["rooms", "--token-file", path]);
      assert.match(
        ofVariable.error,
        /^livechat-relay: RELAY_TOKEN: must be one line of printable ASCII .*\n$/,
      );
      assert.match(
        ofFile.error,
        /^livechat-relay: --token-file: \S+ must contain a token: one line of .*\n$/,
      );
      for (const { code, error } of [ofVariable, ofFile]) {
        assert.equal(code, 2);
        assert.doesNotMatch(error, /secret/);
      }
    });
  }

  it("has no flag, since other users of the machine can see the command line", async () => {
    const { code, error } = await outcome(["watch", VIDEO, "--token", TOKEN]);
    assert.deepEqual([code, error.includes(TOKEN)], [2, false]);
    assert.match(error, /--token is not a flag; did you mean --token-file\?/);
    const { out } = await outcome(["help", "watch"]);
    assert.match(out, /\n {2}RELAY_TOKEN \(default none\)\n/);
    assert.match(out, /\n {2}--token-file \(default none\)\n/);
  });

  it("needs a file that is there", async () => {
    const { code, error } = await outcome(["rooms", "--token-file", "/no/such"]);
    assert.equal(code, 2);
    assert.match(error, /--token-file: \/no\/such cannot be read: there is no such file: check its name/);
  });
});
