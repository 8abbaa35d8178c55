/** `minTier`, `minAmount` and `badges` on each route that reads messages, and slips in parameters. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { filterAsked } from "../../../src/http/filter-query.ts";
import type { FilterQuery } from "../../../src/http/schemas/schemas.ts";
import { ask } from "../../support/api.ts";
import { startRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "worth-filt1";

/** A stored message of each kind that the filters distinguish, by its name. */
const MESSAGES: Readonly<Record<string, [type: string, details: object]>> = {
  words: ["chat", {}],
  owner: ["chat", { badges: [{ kind: "verified" }, { kind: "owner" }] }],
  label: ["chat", { badges: [{ kind: "member", label: "owner" }] }],
  small: ["superchat", { tier: 1, amount: { value: 2, currency: "EUR" } }],
  large: ["superchat", { tier: 5, amount: { value: 50, currency: "EUR" }, badges: [{ kind: "owner" }] }],
  dollars: ["supersticker", { tier: 4, amount: { value: 20, currency: "USD" } }],
  unread: ["superchat", { tier: 7, amount: { value: null, currency: null } }],
  jewels: ["jewels", {}],
  poll: ["poll", {}],
  deletion: ["deleted", {}],
  gap: ["gap", {}],
};

const ALL = Object.keys(MESSAGES);
const without = (...names: string[]) => ALL.filter((name) => !names.includes(name));

const ROWS: [FilterQuery, passed: string[]][] = [
  [{ minTier: "1" }, without("jewels")],
  [{ minTier: "5" }, without("small", "dollars", "jewels")],
  [{ minAmount: "2EUR" }, without("dollars", "unread", "jewels")],
  [{ minAmount: "2.01 eur" }, without("small", "dollars", "unread", "jewels")],
  [{ minAmount: "0EUR" }, without("dollars", "unread", "jewels")],
  [{ minTier: "6", minAmount: "2EUR" }, without("small", "large", "dollars", "unread", "jewels")],
  [{ badges: "owner" }, ["owner", "large", "deletion", "gap"]],
  [{ badges: "member,owner" }, ["owner", "label", "large", "deletion", "gap"]],
  [{ badges: "moderator" }, ["deletion", "gap"]],
  [{ badges: "owner", types: "paid" }, ["large", "gap"]],
  [{ types: "superchat", minTier: "2" }, ["large", "unread", "gap"]],
];

describe("a filter by tier, amount or badge", () => {
  for (const [query, passed] of ROWS)
    it(`${JSON.stringify(query)} passes ${passed.join(", ")}`, () => {
      const filter = filterAsked(query);
      const passes = ([type, details]: [string, object]) =>
        filter.passes({ id: "", body: JSON.stringify({ type }), details: JSON.stringify(details) });
      assert.deepEqual(
        Object.entries(MESSAGES).flatMap(([name, message]) => (passes(message) ? name : [])),
        passed,
      );
    });

  it("lets deletions and gaps pass, which have no badge and no amount", () => {
    const filter = filterAsked({ badges: "owner", minTier: "7", minAmount: "9EUR" });
    for (const type of ["deleted", "author_deleted", "replaced", "gap"])
      assert.ok(filter.passes({ id: "", body: JSON.stringify({ type }), details: "{}" }), type);
  });

  it("is the same as another one of the same values", () => {
    const key = (query: FilterQuery) => filterAsked(query).key;
    assert.equal(
      key({ badges: "owner, member", minAmount: "5eur" }),
      key({ badges: "member,owner", minAmount: "5 EUR" }),
    );
    const queries = ROWS.map(([query]) => key(query));
    assert.equal(new Set(queries).size, queries.length);
  });

  for (const [query, words] of [
    [{ minTier: "0" }, "minTier: must be a whole number from 1 to 7."],
    [{ minTier: "" }, "minTier: must be a whole number from 1 to 7."],
    [{ minAmount: "5" }, "minAmount: must be an amount and a currency, such as 5EUR."],
    [{ minAmount: "-5EUR" }, "minAmount: must be an amount and a currency, such as 5EUR."],
    [{ badges: "" }, 'badges: "" is not a badge; use one of owner, moderator, verified, member.'],
    [{ badges: "owner,moderater" }, 'badges: "moderater" is not a badge; did you mean moderator?'],
  ] as const)
    it(`${JSON.stringify(query)} is refused`, () => {
      assert.throws(() => filterAsked(query), { code: "INVALID_REQUEST", message: words });
    });
});

it("tier and badge select messages in the history and in streams of one or several chats", async () => {
  await using relay = await startRelay();
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text", "paid"], page: 200 });
  chat.say(150);
  await using all = await Stream.open(relay.url, { videoId: VIDEO, backfill: "150", details: true });
  await all.untilMessages(150);
  const stored = await ask(relay.url, `/v1/messages?videoId=${VIDEO}&limit=1000&details=true`);
  type Item = { id: string; type: string; details: { tier?: number; badges?: { kind: string }[] } };
  const messages = (stored.body as { messages: Item[] }).messages;
  const wanted = {
    "minTier=4": messages.filter(({ type, details }) => type !== "superchat" || (details.tier ?? 0) >= 4),
    "badges=moderator,member": messages.filter(({ details }) =>
      details.badges?.some(({ kind }) => kind === "moderator" || kind === "member"),
    ),
  };
  for (const [query, expected] of Object.entries(wanted)) {
    assert.ok(expected.length > 0 && expected.length < 150, query);
    const ids = expected.map(({ id }) => id);
    const page = await ask(relay.url, `/v1/messages?videoId=${VIDEO}&limit=1000&${query}`);
    assert.deepEqual(
      (page.body as { messages: Item[] }).messages.map(({ id }) => id),
      ids,
      query,
    );
    for (const path of [`stream?videoId=${VIDEO}`, `merged?videoIds=${VIDEO}`]) {
      const answer = await fetch(`${relay.url}/v1/${path}&until=now&${query}`);
      const sent = [...(await answer.text()).matchAll(/^data: (\{.*"type":.*\})$/gm)];
      assert.deepEqual(
        sent.map(([, json]) => JSON.parse(String(json)).id),
        ids,
        `${path} ${query}`,
      );
      const newest = await fetch(`${relay.url}/v1/${path}&until=now&backfill=2&${query}`);
      const last = [...(await newest.text()).matchAll(/^data: (\{.*"type":.*\})$/gm)];
      assert.deepEqual(
        last.map(([, json]) => JSON.parse(String(json)).id),
        ids.slice(-2),
        `${path} ${query}`,
      );
    }
  }
});

describe("an unknown parameter of /v1/stream", () => {
  for (const name of [
    "detail",
    "detials",
    "Details",
    "backfil",
    "backfilll",
    "type",
    "typos",
    "minTiers",
    "bagdes",
    "acces_token",
  ])
    it(`"${name}" is refused as a slip`, async () => {
      await using relay = await startRelay();
      const { status, body } = await ask(relay.url, `/v1/stream?videoId=${VIDEO}&${name}=1`);
      assert.equal(status, 400);
      assert.match(
        (body as { message: string }).message,
        /is not a parameter of this endpoint; did you mean /,
      );
    });

  it("is ignored unless it resembles a known parameter with a long name", async () => {
    await using relay = await startRelay();
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
    const answer = await fetch(`${relay.url}/v1/stream?videoId=${VIDEO}&_=1&form=2&chats=3&nocache=4`);
    assert.equal(answer.status, 200);
    await answer.body?.cancel();
  });
});
