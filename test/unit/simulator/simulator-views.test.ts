/**
 * The two views of a chat at the simulated upstream: which token of which place reads which, the menu in the
 * first answer to a page's token, and what Top chat leaves out.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Place, Scenario } from "../../../simulator/scenario.ts";
import {
  chatIn,
  idsOf,
  initialData,
  type Json,
  menuIn,
  poll,
  startFor,
  tokenIn,
} from "../../support/simulator-reader.ts";

const VIDEO = "simulated09";
const KINDS = { live: "get_live_chat", replay: "get_live_chat_replay" } as const;

const answerIn = (body: Json) => body.continuationContents?.liveChatContinuation;

for (const [kind, endpoint] of Object.entries(KINDS)) {
  test(`the whole menu of a ${kind} chat is only in the first answer to a watch page's token`, async (t) => {
    const upstream = await startFor(t);
    const chat = upstream.chat(VIDEO, { kind: kind as keyof typeof KINDS, kinds: ["text"], pageSize: 20 });
    const said = chat.say(40);
    const page = chatIn(await initialData(upstream, "watch", VIDEO));
    const onPage = menuIn(page);
    for (const dead of [onPage?.top ?? "", onPage?.all ?? ""]) {
      assert.match(dead, /^[\w=-]{26,32}$/);
      const refused = await poll(upstream, dead, { endpoint });
      assert.deepEqual([refused.status, refused.body.error?.status], [400, "INVALID_ARGUMENT"]);
    }
    const first = await poll(upstream, tokenIn(page.continuations?.[0]), { endpoint });
    const inTop = idsOf(first.actions);
    const menu = menuIn(answerIn(first.body)) ?? assert.fail("no menu");
    assert.deepEqual(menu.selected, [true, false]);
    const second = await poll(upstream, first.next ?? "", { endpoint });
    assert.equal(menuIn(answerIn(second.body)), undefined);
    const inAll = await poll(upstream, menu.all, { endpoint });
    assert.equal(menuIn(answerIn(inAll.body)), undefined);
    const all = kind === "replay" ? said.slice(0, 20) : said;
    assert.deepEqual(idsOf(inAll.actions), all);
    assert.ok(inTop.length > 0 && inTop.length < all.length, `${inTop.length} of ${all.length} in Top chat`);
    assert.deepEqual(
      inTop,
      all.filter((id) => inTop.includes(id)),
    );
  });
}

test("the popout page of a live chat shows Top chat, and its menu's tokens are whole", async (t) => {
  const upstream = await startFor(t);
  const chat = upstream.chat(VIDEO, { kinds: ["text"], page: 20 });
  const said = chat.say(40);
  const page = chatIn(await initialData(upstream, "popout", VIDEO));
  const shown = idsOf(page.actions ?? assert.fail("no actions"));
  assert.ok(shown.length > 0 && shown.length < 20, `${shown.length} on the page`);
  const { all } = menuIn(page) ?? assert.fail("no menu");
  assert.deepEqual(idsOf((await poll(upstream, all)).actions), said.slice(20));
});

for (const [foundOn, shown] of [
  ["everywhere", ["watch", "next"]],
  ["both", ["watch"]],
  ["popout", ["popout"]],
] as [Scenario["foundOn"], Place[]][]) {
  test(`a replay on "${foundOn}" is shown on ${shown}; the popout page says chat is disabled`, async (t) => {
    const upstream = await startFor(t);
    const chat = upstream.chat(VIDEO, { kind: "replay", foundOn });
    const places = ["popout", "watch", "next"] as const;
    assert.deepEqual(
      places.filter((place) => chat.page(place).chat),
      shown,
    );
    if (foundOn !== "popout") assert.equal(chat.page("popout").absent, "disabled");
  });
}
