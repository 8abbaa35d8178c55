/** The egresses to the upstream, as `RELAY_EGRESS` lists them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toConfig } from "../../../../src/cli/config.ts";
import { readFlags, UsageError } from "../../../../src/cli/flags.ts";
import { SETTINGS } from "../../../../src/cli/setting-table.ts";

const read = (text: string) => readFlags(SETTINGS, [], { RELAY_EGRESS: text });
const waysIn = (text: string) => toConfig(read(text).values).upstream.specs;

describe("the list of egresses", () => {
  for (const [text, ...expected] of [
    ["", { name: "direct", key: "direct", isNamed: false, kind: "direct" }],
    ["office=direct", { name: "office", key: "office", isNamed: true, kind: "direct" }],
    [
      "direct, ip:192.0.2.7,six=ip:2001:db8::1",
      { name: "direct", key: "direct", isNamed: false, kind: "direct" },
      { name: "ip-2", key: "192.0.2.7", isNamed: false, kind: "address", address: "192.0.2.7" },
      { name: "six", key: "six", isNamed: true, kind: "address", address: "2001:db8::1" },
    ],
    [
      "http://us%2Cer:p%40ss=x@proxy.test:3128,s=socks5://[2001:db8::2],http://proxy.test",
      {
        name: "proxy-1",
        key: "proxy.test:3128",
        isNamed: false,
        kind: "proxy",
        url: "http://us%2Cer:p%40ss%3Dx@proxy.test:3128/",
      },
      { name: "s", key: "s", isNamed: true, kind: "proxy", url: "socks5://[2001:db8::2]" },
      { name: "proxy-3", key: "proxy.test:80", isNamed: false, kind: "proxy", url: "http://proxy.test/" },
    ],
  ] as const) {
    it(`is read: ${text || "nothing"}`, () => assert.deepEqual(waysIn(text), expected));
  }

  for (const [text, entry] of [
    ["indirect", 1],
    ["direct,", 2],
    ["direct,direct", 2],
    ["a=direct,a=ip:192.0.2.7", 2],
    ["proxy-2=direct,http://user:secret@proxy.test", 2],
    ["direct,ip:192.0.2", 2],
    ["ip:proxy.test", 1],
    ["na me=direct", 1],
    ["ftp://user:secret@proxy.test", 1],
    ["https://user:secret@proxy.test", 1],
    ["http:user:secret@proxy.test:3128:4", 1],
    ["http:user:secret@proxy.test:3128", 1],
    ["user:secret@proxy.test:3128", 1],
    ["http://user:secret@proxy.test/path", 1],
    ["http://user:secret%@proxy.test", 1],
    ["http://user:secret@proxy.test:1,direct,socks5://other:secret@proxy.test:1", 3],
  ] as const) {
    it(`is refused in one line without the password: ${text}`, () => {
      assert.throws(
        () => read(text),
        (error) => {
          assert.ok(error instanceof UsageError);
          assert.match(
            error.message,
            new RegExp(`^RELAY_EGRESS: must be a comma-separated list .*; entry ${entry} [^\n]*$`),
          );
          assert.doesNotMatch(error.message, /secret|user/);
          return true;
        },
      );
    });
  }
});
