/** The main behaviours of the pages in Firefox, too. All others are tested in Chromium alone. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { afterEach, before, describe, it } from "node:test";
import { faultsOf, idsOf, rowOf, until } from "../support/browser.ts";
import { deletionOf, paidAction, replacementOf, textAction, texts } from "../support/chat-actions.ts";
import { TEXT } from "../support/chat-items.ts";
import { placeAway } from "../support/distance.ts";
import { bannered } from "../support/every-kind.ts";
import { countOfAccessible, forceColors, launchFirefox, NO_FIREFOX } from "../support/firefox.ts";
import { NOTE_ROWS, usePages } from "../support/pages.ts";
import { POLL_OPENED, POLL_UPDATED } from "../support/poll-items.ts";

const ANN = { author: "@ann", channel: "UCannannannannannannanna" };
const HOSTILE = `<img src=x onerror="document.title='run'"> <script>document.title = 'run'</script> & \u202eabc`;

describe("Firefox", { skip: NO_FIREFOX }, () => {
  const pages = usePages("/", { width: 1000, height: 600 }, { page: 1000, kinds: ["text"] }, launchFirefox);
  const { evaluate, has, visit } = pages;
  const visitOverlay = (query: string) =>
    pages.page.goto(`${pages.relay.url}/overlay?videoId=${pages.videoId}${query}`);
  const topOf = (id: string) =>
    evaluate<number>(`document.querySelector('${rowOf(id)}').getBoundingClientRect().top`);
  const styleOf = (selector: string, name: string) =>
    evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${name}')`);
  const idsFrom = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, at) => `${prefix}-${at}`);

  let faults: string[];
  before(() => {
    faults = faultsOf(pages.page);
    pages.page.on("console", (message) => {
      // Firefox fails a request that a reload or another address ends.
      const isOfReload = /cannot be loaded|totals cannot be read/.test(message.text());
      if (message.type() === "error" && !isOfReload) faults.push(message.text());
    });
  });
  afterEach(async () => {
    assert.deepEqual(faults.splice(0), []);
    await evaluate("localStorage.clear()");
  });

  it("shows each message once, in order, as text, and its later changes", async () => {
    const { page, chat } = pages;
    chat.say([textAction("hostile", { text: HOSTILE, author: HOSTILE }), ...texts("a", 3)]);
    chat.say([paidAction("paid", "$50.00"), bannered(TEXT), POLL_OPENED]);
    await visit();
    await has("paid");
    chat.say([deletionOf("a-0"), replacementOf("a-1", "new words"), POLL_UPDATED, textAction("z")]);
    await has("z");
    const ids = (await idsOf(page)).map((id) => id.replace(/^poll:.*/, "poll"));
    assert.deepEqual(ids, ["hostile", "a-0", "a-1", "a-2", "paid", "poll", "z"]);
    const wordsOf = (id: string) => page.locator(`${rowOf(id)} [data-field=message]`).textContent();
    assert.equal(await wordsOf("hostile"), HOSTILE);
    assert.equal(await page.locator(`${rowOf("hostile")} :is(img, script):not(.face *)`).count(), 0);
    assert.equal(await page.title(), `${pages.videoId} · Live chat`);
    assert.doesNotMatch(await page.content(), /words of a-[01]/);
    assert.equal(await wordsOf("a-1"), "new words");
    await page.locator("#pinned .poll").getByText("53%").first().waitFor();
    assert.equal(await page.locator("#pinned [data-type=banner]").count(), 1);
    assert.equal(await page.locator("#ticker .paid").innerText(), "@somebody $50.00");
  });

  it("resumes after a cut, and loses and repeats nothing", async () => {
    const { page, relay, chat, videoId } = pages;
    await using distance = await placeAway(relay.url, 0);
    chat.say(texts("a", 20));
    await page.goto(`${distance.url}/?videoId=${videoId}&images=off`);
    await has("a-19");
    distance.cut();
    await pages.stateIs("reconnecting");
    chat.say(texts("b", 80)); // more than a backfill
    await has("b-79");
    assert.deepEqual(await idsOf(page), [...idsFrom("a", 20), ...idsFrom("b", 80)]);
  });

  it("keeps the view in place while messages come and older ones are loaded, and follows again", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 300));
    await visit("&images=off&backfill=50");
    await has("a-299");
    await page.locator("#chat").hover();
    await page.mouse.wheel(0, -300);
    await page.locator("#chat[data-following=false]").waitFor();
    const before = await topOf("a-290");
    chat.say([...texts("b", 30), deletionOf("a-255"), replacementOf("a-256", "x\ny\nz")]);
    await has("b-29");
    assert.ok(Math.abs((await topOf("a-290")) - before) <= 2);
    await evaluate("document.querySelector('#chat').scrollTop = 1");
    const first = await topOf("a-250");
    await has("a-50");
    assert.ok(Math.abs((await topOf("a-250")) - first) <= 2);
    await page.locator("#latest").click();
    await page.locator("#chat[data-following=true]").waitFor();
    const below = "(({ scrollHeight, clientHeight, scrollTop }) => scrollHeight - clientHeight - scrollTop)";
    assert.ok((await evaluate<number>(`${below}(document.querySelector('#chat'))`)) < 3);
  });

  it("searches all stored messages, opens the log at one, and downloads them", async () => {
    const { page, chat } = pages;
    chat.say([textAction("needle", { text: "a needle", author: "@ines" }), ...texts("a", 400)]);
    await visit("&images=off&backfill=20");
    await has("a-399");
    await page.locator("input[name=q]").fill("needle");
    await page.locator("input[name=author]").fill("@ines");
    await page.keyboard.press("Enter");
    await page.getByText("1 message found. Searched everything that is kept.").waitFor();
    await page.locator("#found li button").click();
    await page.locator(`${rowOf("needle")}:focus`).waitFor();
    await page.locator("#download summary").click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.locator("#download a").first().click(),
    ]);
    const csv = await readFile(await download.path(), "utf8");
    assert.equal(csv.trim().split("\n").length, 1 + 401);
  });

  it("opens the card of an author by the keyboard alone, and remembers muted authors", async () => {
    const { page, chat } = pages;
    chat.say([textAction("a", ANN), ...texts("x", 20), textAction("b", ANN)]);
    await visit();
    await has("b");
    await page.locator("#chat").focus();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("2 messages in all that is kept.").waitFor();
    await page.locator("#author button[value=hide]").focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("Escape");
    await page.locator("#author").waitFor({ state: "hidden" });
    assert.deepEqual(await idsOf(page), idsFrom("x", 20));
    await page.reload();
    await has("x-19");
    assert.deepEqual(await idsOf(page), idsFrom("x", 20));
  });

  it("has the chosen theme, and scrolls nothing sideways", async () => {
    const { page, chat } = pages;
    chat.say([textAction("a", { text: "w".repeat(300) }), paidAction("paid", "$5.00")]);
    await visit();
    await has("paid");
    const ground = () => styleOf("body", "background-color");
    const grounds: string[] = [];
    await page.locator("#looks summary").click();
    for (const theme of ["light", "dark"]) {
      await page.locator("select[name=theme]").selectOption(theme);
      grounds.push(await ground());
    }
    assert.notEqual(grounds[0], grounds[1]);
    await visit();
    assert.equal(await ground(), grounds[1]); // remembered
    for (const width of [320, 1000]) {
      await page.setViewportSize({ width, height: 600 });
      assert.ok(await evaluate("document.documentElement.scrollWidth <= innerWidth"), `${width} px`);
    }
  });

  it("shows in forced colours the chosen tab, switches, bars, cards, badges and the connection", async () => {
    const { page, chat, browser } = pages;
    chat.say([paidAction("paid", "$5.00"), POLL_OPENED, POLL_UPDATED, bannered(TEXT), textAction("a")]);
    await forceColors(browser, true);
    await visit();
    await has("a");
    await pages.stateIs("open");
    const ground = (selector: string) => styleOf(selector, "background-color");
    const [text, canvas] = [await styleOf("body", "color"), await ground("body")];
    assert.ok(await evaluate("matchMedia('(forced-colors: active)').matches"));
    assert.equal(await ground("#tab-chat"), await ground("input[name=images]"));
    assert.notEqual(await ground("#tab-stats"), await ground("#tab-chat"));
    assert.match(await styleOf("#chat meter", "background-image"), /gradient/);
    for (const card of [rowOf("paid"), ".face"]) assert.equal(await styleOf(card, "border-top-width"), "1px");
    await page.locator("span[data-field=badge]").first().waitFor({ state: "attached" });
    for (const sign of ["span[data-field=badge]", "#dot"]) assert.equal(await ground(sign), text, sign);
    await evaluate("document.documentElement.dataset.state = 'reconnecting'");
    assert.equal(await ground("#dot"), canvas);
    await forceColors(browser, false);
    assert.equal(await evaluate("matchMedia('(forced-colors: active)').matches"), false);
  });

  it("gives a screen reader the log, the paid messages, the polls and the dialog", async () => {
    const { page, chat, browser } = pages;
    chat.say([paidAction("paid", "$50.00", ANN), POLL_OPENED, POLL_UPDATED, textAction("a", ANN)]);
    await visit("&timestamps=off");
    await has("a");
    await page.locator("#ticker .paid").waitFor();
    const counts = (...all: [role: string, name: string][]) =>
      Promise.all(all.map(([role, name]) => countOfAccessible(browser, role, name)));
    const given = await counts(
      ["log", "Chat"],
      ["toolbar", "Paid messages"],
      ["button", "@ann $50.00"],
      ["button", "@ann"],
      ["meter", "wall"],
      ["tablist", "What to show"],
      ["switch", "Pictures"],
      ["search", ""],
      ["group", "Pinned"],
    );
    assert.deepEqual(given, [1, 1, 1, 2, 2, 1, 1, 1, 1]);
    await page.locator(`${rowOf("a")} [role=button]`).click();
    await page.getByText("2 messages in all that is kept.").waitFor();
    assert.deepEqual(await counts(["dialog", "@ann"], ["heading", "@ann"]), [1, 1]);
    await page.keyboard.press("Escape");
    await page.locator("#tab-stats").click();
    assert.deepEqual(await counts(["log", "Chat"], ["tabpanel", "Chat"], ["tabpanel", "Stats"]), [0, 0, 1]);
  });

  it("has a transparent overlay without scroll bars, whose rows are limited and fade", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 40));
    await visitOverlay("&images=off&max=10");
    await has("a-39");
    assert.deepEqual(await idsOf(page), idsFrom("a", 40).slice(30));
    for (const element of ["html", "body"]) {
      assert.equal(await styleOf(element, "background-color"), "rgba(0, 0, 0, 0)");
      assert.equal(await styleOf(element, "overflow-y"), "hidden");
    }
    await visitOverlay("&images=off&fade=0.3");
    await pages.stateIs("open");
    chat.say([textAction("new")]);
    await has("new");
    assert.deepEqual(await idsOf(page), ["new"]);
    await page.locator(rowOf("new")).waitFor({ state: "detached" });
  });

  it("has an overlay that shows one alert at a time", async () => {
    const { page, chat } = pages;
    await page.addInitScript(NOTE_ROWS);
    await visitOverlay("&images=off&view=alerts&hold=0.3");
    await pages.stateIs("open");
    chat.say([paidAction("first", "$5.00"), textAction("a"), paidAction("second", "$7.00")]);
    await until(page, "noted.at(-1) === '' && noted.length > 1");
    assert.deepEqual(await evaluate("noted"), ["first", "second", ""]);
  });

  it("has a set-up page that can be used by the keyboard and copies the URL", async () => {
    const { page, relay } = pages;
    await page.goto(`${relay.url}/overlay/setup`);
    await page.frameLocator("#preview").locator("[data-type=chat]").first().waitFor();
    await page.locator("#parameters [name=theme]").first().focus();
    await page.keyboard.press("ArrowDown");
    await page.frameLocator("#preview").locator("html[data-theme=light]").waitFor({ state: "attached" });
    await page.locator("#copy").focus();
    await page.keyboard.press("Enter");
    await page.getByText("Copied.").waitFor();
    await page.locator("[name=videoId]").focus();
    await page.keyboard.press("Control+V");
    assert.equal(await page.locator("[name=videoId]").inputValue(), `${relay.url}/overlay?theme=light`);
  });
});
