/** The viewer page for those who use it by keyboard, by screen reader, or on a small screen. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { violationsIn } from "./support/axe.ts";
import { NO_CHROMIUM, rowOf, until } from "./support/browser.ts";
import { paidAction, textAction, texts } from "./support/chat-actions.ts";
import { TEXT } from "./support/chat-items.ts";
import { bannered, SENT } from "./support/every-kind.ts";
import { usePages } from "./support/pages.ts";

/** Every action that is known, as if each was of another item. */
const EVERY_KIND = Object.values(SENT)
  .flat()
  .map((action, at) => JSON.parse(JSON.stringify(action).replaceAll("made-up-id", `made-up-${at}`)));

/** An author whose channel id has the usual form. */
const KNOWN = { author: "@bob", channel: "UCbobbobbobbobbobbobbob1" };

describe("the viewer page's accessibility", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1280, height: 720 }, { page: 200 });
  const { evaluate, has } = pages;
  const visit = async (): Promise<void> => {
    pages.chat.say([...EVERY_KIND, bannered(TEXT, { actionId: "banner-2" }), ...texts("a", 30)]);
    await pages.visit();
    await has("a-29");
  };

  for (const width of [320, 768, 1440]) {
    it(`passes axe by day and night, and scrolls nothing sideways, at ${width} px`, async () => {
      const { page } = pages;
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ reducedMotion: "reduce" }); // a colour that changes is none to judge
      await visit();
      await evaluate("document.querySelector('#filters').toggleAttribute('data-open', true)");
      for (const theme of ["light", "dark"]) {
        await page.locator("select[name=theme]").selectOption(theme);
        for (const tab of width === 320 ? ["stats", "chat"] : ["chat"]) {
          await page.locator(`#tab-${tab}`).click();
          assert.deepEqual(await violationsIn(page), [], `${theme} ${tab}`);
          const fits = await evaluate("document.documentElement.scrollWidth <= innerWidth");
          assert.ok(fits, `${theme} ${tab} scrolls sideways`);
        }
      }
      await evaluate("localStorage.clear()");
    });
  }

  it("passes axe in every state", async () => {
    const { page, relay } = pages;
    await page.setViewportSize({ width: 1280, height: 800 });
    const judge = async (state: string) => {
      assert.deepEqual(await violationsIn(page), [], state);
    };
    pages.chat.say([textAction("known", KNOWN), paidAction("p", "$5.00")]);
    await pages.visit();
    await has("p");
    for (const menu of ["looks", "download"]) {
      await page.locator(`#${menu} summary`).click();
      await judge(menu);
    }
    await page.keyboard.press("Escape");
    await page.locator("input[name=q]").fill("words");
    await page.getByRole("button", { name: "Find in all" }).click();
    await page.locator("#found li").first().waitFor();
    await judge("found");
    await page.locator("#found-close").click();
    await page.locator(`${rowOf("known")} [role=button]`).click();
    await page.locator("#author li button").first().waitFor();
    await judge("author");
    await page.keyboard.press("Escape");
    await page.locator("#tab-stats").click();
    await page.locator("#minutes summary").click();
    await judge("stats");
    for (const [state, path] of [
      ["idle", "/"],
      ["failed", "/?videoId=no"],
      ["dock", `/?layout=dock&videoId=${pages.videoId}`],
      ["probe", "/probe"],
    ] as const) {
      await page.goto(relay.url + path);
      await page.locator(`html[data-state=${state}], #chat .row, tr`).first().waitFor({ state: "attached" });
      await judge(state);
    }
  });

  it("shows in forced colours which switch is on, which tab is chosen, and whether it is connected", async () => {
    const { page } = pages;
    await page.emulateMedia({ forcedColors: "active" });
    await visit();
    await pages.stateIs("open");
    const style = (selector: string, property: string, pseudo = "") =>
      evaluate<string>(
        `getComputedStyle(document.querySelector('${selector}'), '${pseudo}').getPropertyValue('${property}')`,
      );
    const ground = (selector: string, pseudo?: string) => style(selector, "background-color", pseudo);
    const images = "input[name=images]";
    const on = [await ground(images), await ground(images, "::before")];
    await page.locator(images).uncheck();
    const off = [await ground(images), await ground(images, "::before")];
    await page.locator(images).check();
    assert.notEqual(on[0], on[1]);
    assert.notEqual(off[0], off[1]);
    assert.notEqual(on[0], off[0]);
    assert.equal(await style(images, "outline-style"), "solid");
    assert.equal(await ground("#tab-chat"), on[0]);
    assert.notEqual(await ground("#tab-stats"), on[0]);
    const open = await ground("#dot");
    await evaluate("document.documentElement.dataset.state = 'reconnecting'");
    assert.notEqual(await ground("#dot"), open);
    await page.emulateMedia({ forcedColors: null });
    await evaluate("localStorage.clear()");
  });

  it("is read by a screen reader as a log, a list of paid messages, and a dialog", async () => {
    const { page, chat } = pages;
    chat.say([paidAction("p", "$50.00", { author: "@ann" }), textAction("a", { ...KNOWN, text: "hello" })]);
    await pages.visit("&timestamps=off");
    await has("a");
    await page.locator("#ticker .paid").waitFor();
    const tree = (selector: string) => page.locator(selector).ariaSnapshot();
    assert.equal(
      await tree("#ticker"),
      '- group "Paid messages":\n  - button "@ann $50.00":\n    - text: "@ann"\n    - strong: $50.00',
    );
    assert.match(await tree("#chat"), /^- log "Chat":\n/);
    assert.match(await tree("#chat"), /button "@bob"\n.*text: hello/);
    await page.locator(`${rowOf("a")} [role=button]`).click();
    await page.locator("#author li button").waitFor();
    const dialog = await tree("#author");
    assert.match(dialog, /^- dialog "@bob":\n/);
    for (const part of ['button "Highlight"', 'button "Mute"', "status: 1 message", 'button "Close"'])
      assert.ok(dialog.includes(part), `${part} is not in ${dialog}`);
    await page.keyboard.press("Escape");
  });

  it("can be used by the keyboard alone", async () => {
    const { page } = pages;
    await page.setViewportSize({ width: 1280, height: 720 });
    await visit();
    const reached = new Set<string>();
    for (let step = 0; step < 30; step += 1) {
      await page.keyboard.press("Tab");
      reached.add(
        await evaluate(
          "(() => { const e = document.activeElement; return e.id || (e.name ? e.name + (e.name === 'types' ? ':' + e.value : '') : e.tagName) })()",
        ),
      );
    }
    for (const control of [
      "videoId",
      "types:chat",
      "types:moderation",
      "q",
      "images",
      "theme",
      "tab-chat",
      "pinned",
      "chat",
    ]) {
      assert.ok(reached.has(control), `${control} is not among ${[...reached]}`);
    }
    await page.locator("#tab-chat").focus();
    await page.keyboard.press("ArrowRight");
    await page.locator("#stats").waitFor();
    assert.equal(new URL(page.url()).searchParams.get("tab"), "stats");
    await page.locator("input[value=chat][name=types]").focus();
    await page.keyboard.press("Space");
    assert.equal(await page.locator("#chat [data-type=chat]").count(), 0);
  });

  it("announces new rows only while they come slowly", async () => {
    const { page, chat } = pages;
    await page.clock.install();
    await visit();
    const live = (value: string) =>
      until(page, `document.querySelector('#chat').getAttribute('aria-live') === '${value}'`);
    await live("off");
    await page.clock.fastForward(3000);
    await live("polite");
    chat.say(texts("fast", 30));
    await has("fast-29");
    await live("off");
    await page.clock.fastForward(3000);
    await live("polite");
  });

  it("announces nothing of the backfill, however short", async () => {
    const { page, chat } = pages;
    await page.clock.pauseAt(Date.now() + 3_600_000);
    chat.say(texts("a", 1));
    await pages.visit();
    await pages.stateIs("open");
    const live = () => page.locator("#chat").getAttribute("aria-live");
    assert.equal(await live(), "off");
    await page.clock.runFor(2500);
    assert.equal(await live(), "off");
    await page.clock.runFor(1000);
    assert.equal(await live(), "polite");
  });
});
