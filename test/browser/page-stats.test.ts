/** The statistics of the viewer page: those of the room, and what the page has received. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Route } from "playwright-core";
import { NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import { deletionOf, paidAction, textAction, texts } from "../support/chat-actions.ts";
import { replaying } from "../support/chat-items.ts";
import { usePages } from "../support/pages.ts";

describe("the statistics of the viewer page", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1000, height: 800 }, { page: 1000, kinds: ["text"] });
  const { evaluate, has, visit } = pages;
  const count = (stat: string) =>
    evaluate<string>(`document.querySelector('#stats [data-stat=${stat}]')?.dataset.count`);
  const counts = (stat: string, expected: number) =>
    until(
      pages.page,
      `document.querySelector('#stats [data-stat=${stat}]')?.dataset.count === '${expected}'`,
    );
  /** The page fills the table when the browser says that it was opened, which is after the click. */
  const openTable = async () => {
    await pages.page.locator("#minutes summary").click();
    await pages.page.locator("#minutes tbody tr").first().waitFor();
  };

  it("count messages that come while totals are loading, also if the chat is silent afterwards", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 3));
    const late = async (route: Route) => {
      const response = await route.fetch();
      chat.say([textAction("late")]);
      await has("late");
      await route.fulfill({ response });
    };
    await page.route(/v1.rooms/, late, { times: 1 });
    await visit("&tab=stats");
    await counts("messages", 4);
  });

  it("are those of the whole room, not of this tab, exactly", async () => {
    const { page, chat } = pages;
    const author = (name: string) => ({ author: name, channel: `UC${name}` });
    chat.say([
      paidAction("p1", "$0.10", author("@ann")),
      paidAction("p2", "$0.20", author("@bob")),
      paidAction("p3", "€5.00", author("@bob")),
      paidAction("p4", "5.00 shells", author("@bob")),
      paidAction("p5", "$9.00", author("@cem")),
      deletionOf("p5"),
      ...texts("a", 300),
    ]);
    await visit("&backfill=10");
    await has("a-299");
    await counts("messages", 10);
    assert.equal(await page.locator("#authors li").count(), 0); // not while it is hidden
    await page.locator("#tab-stats").click();
    await counts("messages", 305);
    assert.deepEqual(await Promise.all(["authors", "unreadable", "deleted-paid"].map(count)), [
      "4",
      "1",
      "1",
    ]);
    const figures = await evaluate(
      "[...document.querySelectorAll('#stats [data-currency]')].map(({ dataset }) => [dataset.currency, dataset.sum, dataset.count])",
    );
    assert.deepEqual(figures, [
      ["USD", "0.3", "2"],
      ["EUR", "5", "1"],
    ]);
    chat.say(texts("b", 3));
    await counts("messages", 308);
    await counts("rate", 308);
    assert.equal(await page.locator("#authors li").first().innerText(), "@somebody\n303");
    const chart = page.locator("#chart svg[role=img]");
    assert.match((await chart.getAttribute("aria-label")) ?? "", / 308 in all\.$/);
  });

  it("count no message twice that came before the answer which has it", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 3));
    const early = async (route: Route) => {
      chat.say([textAction("early")]);
      await has("early");
      await route.continue();
    };
    await page.route(/v1.rooms/, early, { times: 1 });
    await visit("&tab=stats");
    await counts("authors", 1);
    assert.equal(await count("messages"), "4");
  });

  it("are a dash until they are known", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 3));
    const known = Promise.withResolvers<void>();
    await page.route(/v1.rooms/, async (route) => {
      await known.promise;
      await route.continue();
    });
    await visit("&tab=stats");
    await has("a-2");
    for (const stat of ["rate", "authors", "membership"]) {
      assert.equal(await count(stat), "");
      assert.equal(await page.locator(`#stats [data-stat=${stat}] dd`).innerText(), "–");
    }
    await page.locator("#chart .none").waitFor(); // the chart is loaded when it is first seen
    const unknown = ["#chart", "#authors", "#currencies"].map((part) => page.locator(part).innerText());
    assert.deepEqual(await Promise.all(unknown), ["–", "–", "–"]);
    known.resolve();
    await counts("rate", 3);
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  it("count no message twice that the totals had before the stream brought it", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 40));
    await visit();
    await has("a-39");
    const late = async (route: Route) => {
      await counts("messages", 40);
      await route.continue();
    };
    await page.route("**/v1/stream?*", late, { times: 1 });
    await visit("&tab=stats");
    // Drawn together. With the next minute, the rate of these messages falls.
    await until(page, "document.querySelector('#stats [data-stat=rate]')?.dataset.count > 0");
    assert.equal(await count("messages"), "40");
    chat.say(texts("b", 2));
    await counts("messages", 42);
  });

  it("show nothing of a payment in a row whose message was deleted", async () => {
    const { page, chat } = pages;
    chat.say([paidAction("p", "$500.00"), deletionOf("p"), textAction("z")]);
    await visit();
    await has("z");
    const row = await page.locator(rowOf("p")).evaluate(({ outerHTML }) => outerHTML);
    assert.doesNotMatch(row, /\b500\b|USD/); // as a number of its own: cursors have many digits
  });

  it("show each minute to the pointer, to the keyboard, and as a table", async () => {
    const { page, chat } = pages;
    const at = (id: string, minutesAgo: number) => {
      const action = JSON.stringify(textAction(id));
      return JSON.parse(
        action.replace(/(?<="timestampUsec":")\d+/, String((Date.now() - minutesAgo * 60_000) * 1000)),
      );
    };
    chat.say([at("a", 3), at("b", 3), at("c", 3), at("d", 2)]);
    await visit("&tab=stats");
    await counts("messages", 4);
    const value = () => page.locator("#chart-value").innerText();
    const chart = page.locator("#chart");
    assert.match(
      (await chart.locator("svg[role=img]").getAttribute("aria-label")) ?? "",
      /3 at most.*4 in all/,
    );
    await chart.focus();
    await page.keyboard.press("Home");
    assert.match(await value(), /^\d+:\d\d [AP]M: 3 a minute$/);
    await page.keyboard.press("ArrowRight");
    assert.match(await value(), /: 1 a minute$/);
    const first = await chart.locator("rect").first().boundingBox();
    await page.mouse.move((first?.x ?? 0) + 5, (first?.y ?? 0) + 5);
    assert.match(await value(), /: 3 a minute$/);
    await openTable();
    const rows = (await page.locator("#minutes tbody td").allInnerTexts()).map(Number);
    assert.deepEqual([rows.at(-1), rows.at(-2), rows.reduce((sum, each) => sum + each, 0)], [3, 1, 4]);
  });

  it("go by the video's time for a replay, of any length", async () => {
    const { page, chat } = pages;
    chat.change({ kind: "replay" });
    const minutes = [-1, 0, 0, 1, 119];
    chat.say(minutes.map((minute, at) => replaying(String(minute * 60_000), textAction(`a-${at}`))));
    await visit("&tab=stats");
    await counts("messages", 5);
    await openTable();
    const rows = await page.locator("#minutes tbody tr").allInnerTexts();
    assert.equal(rows.length, 41); // of three minutes each
    assert.deepEqual([rows[0], rows.at(-1)], ["1:59:00\t0.3", "-1:00\t1.3"]);
    assert.equal(await count("rate"), undefined);
    const name = await page.locator("#chart svg[role=img]").getAttribute("aria-label");
    assert.match(name ?? "", / 5 in all\.$/);
  });
});
