/** The viewer page for those who use it by keyboard, by screen reader, or on a small screen. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { treeOf } from "../support/accessibility.ts";
import { violationsIn } from "../support/axe.ts";
import { addressOf, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import { paidAction, textAction, texts } from "../support/chat-actions.ts";
import { TEXT } from "../support/chat-items.ts";
import { bannered, SENT } from "../support/every-kind.ts";
import { usePages } from "../support/pages.ts";
import { POLL_OPENED, POLL_UPDATED } from "../support/poll-items.ts";

/** In the page: notes each element that gets the focus, and those on which it cannot be seen. */
const NOTE_FOCUS = `
  window.hadFocus = new Set([document.activeElement]);
  window.unseen = [];
  addEventListener("focusin", ({ target }) => {
    hadFocus.add(target);
    const drawn = target.closest(".chip") ? target.nextElementSibling : target;
    if (getComputedStyle(drawn).outlineStyle === "none") unseen.push(target.outerHTML.slice(0, 120));
  });`;
/**
 * In the page: the controls in view that had no focus. Among tabs, paid messages, and names and links of the
 * chat, one gets it, and the arrow keys lead to the others.
 */
const UNREACHED = `
  [...document.querySelectorAll("button, a[href], input, select, summary, [tabindex='0']")]
    .filter((each) => each.checkVisibility({ visibilityProperty: true }) && !hadFocus.has(each))
    .filter((each) => !each.matches(":is([role=tab], #ticker *, .row a, #older)[tabindex='-1']"))
    .map(({ outerHTML }) => outerHTML.slice(0, 120))`;

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
      if (width < 800) await page.locator("#filters-toggle").click();
      for (const theme of ["light", "dark"]) {
        await page.locator("#looks summary").click();
        await page.locator("select[name=theme]").selectOption(theme);
        await page.keyboard.press("Escape");
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
    assert.equal(await ground("#dot"), await ground("body"));
    await page.emulateMedia({ forcedColors: null });
    await evaluate("localStorage.clear()");
  });

  it("is read by a screen reader as a log, a list of paid messages, and a dialog", async () => {
    const { page, chat } = pages;
    chat.say([paidAction("p", "$50.00", { author: "@ann" }), textAction("a", { ...KNOWN, text: "hello" })]);
    chat.say([POLL_OPENED, POLL_UPDATED]);
    await page.clock.install();
    await pages.visit("&timestamps=off");
    await has("a");
    await page.locator("#ticker .paid").waitFor();
    await page.clock.fastForward(3000);
    await page.locator("#chat[aria-live=polite]").waitFor();
    const outline = async (selector: string) => (await treeOf(page, selector)).split("\n");
    const [paid, ...others] = await outline("#ticker");
    assert.deepEqual([paid, others[0]], ['toolbar "Paid messages"', '  button "@ann $50.00"']);
    const poll = ["Wall or floor?", "wall", "47%", "wall", "floor", "53%", "floor", "1,972 votes"].map(
      (text, at) => `  ${at === 3 || at === 6 ? "meter" : "StaticText"} "${text}"`,
    );
    assert.deepEqual(await outline("#chat"), [
      'log "Chat" live=polite relevant=additions',
      '  button "Older messages"',
      ...['  button "@ann"', '  StaticText "$50.00"', '  StaticText "words of p"'],
      ...['  button "@bob"', '  StaticText "hello"'],
      ...poll,
      '  StaticText "· Poll open"',
    ]);
    assert.deepEqual(await outline("#status"), [
      "status live=polite relevant=additions text",
      '  StaticText "Live chat"',
    ]);
    await page.locator(`${rowOf("a")} [role=button]`).click();
    await page.locator("#author li button").waitFor();
    const dialog = await outline("#author");
    assert.match(dialog.join("\n"), /^ {6}button "\w+ \d+, \d{4}, \d+:\d\d [AP]M hello"$/m);
    assert.deepEqual(dialog.slice(0, 11), [
      'dialog "@bob" modal=true',
      ...['  heading "@bob"', '  button "Close"', '  list "Badges"'],
      ...['  button "Highlight" pressed=false', '  button "Mute" pressed=false'],
      '  link "Channel on YouTube"',
      '  heading "Messages in this chat"',
      "  status live=polite relevant=additions text",
      '    StaticText "1 message in all that is kept."',
      "  list",
    ]);
    await page.keyboard.press("Escape");
  });

  /** Presses Tab until every control in view has had the focus, or more often than there are controls. */
  const unreached = async (state: string): Promise<void> => {
    await evaluate(NOTE_FOCUS);
    let left = [state];
    for (let round = 0; round < 20 && left.length > 0; round += 1) {
      for (let step = 0; step < 5; step += 1) await pages.page.keyboard.press("Tab");
      left = await evaluate(UNREACHED);
    }
    assert.deepEqual(left, [], state);
    assert.deepEqual(await evaluate("unseen"), [], state);
  };

  it("leads the focus to every control, in every state", async () => {
    const { page } = pages;
    await page.setViewportSize({ width: 1280, height: 720 });
    pages.chat.say([textAction("known", KNOWN), paidAction("p", "$50.00")]);
    await visit();
    await unreached("chat");
    await page.locator("#chat").focus();
    await page.keyboard.press("Home");
    await page.locator("#latest:not([hidden]), #chat[data-following=false]").first().waitFor();
    await unreached("top");
    await page.locator("#looks summary").focus();
    await page.keyboard.press("Enter");
    await unreached("looks");
    await page.locator("input[name=author]").fill("@bob");
    await page.keyboard.press("Enter");
    await page.locator("#found li").waitFor();
    await unreached("found");
    await page.keyboard.press("Escape");
    await page.locator("#tab-stats").click();
    await unreached("stats");
  });

  it("can be used by the keyboard alone, as by the pointer", async () => {
    const { page, chat } = pages;
    const focused = (selector: string) => page.locator(`${selector}:focus`).waitFor();
    const tabTo = async (selector: string): Promise<void> => {
      for (let step = 0; step < 30 && !(await page.locator(`${selector}:focus`).count()); step += 1)
        await page.keyboard.press("Tab");
      await focused(selector);
    };
    const following = (value: boolean) => page.locator(`#chat[data-following=${value}]`).waitFor();
    chat.say([paidAction("p", "$50.00"), ...texts("a", 150), textAction("needle", KNOWN)]);
    await pages.visit("&backfill=50");
    await has("needle");
    await page.locator("#ticker .paid").waitFor();

    for (const menu of ["looks", "download"]) {
      await page.locator(`#${menu} summary`).focus();
      await page.keyboard.press("Enter");
      await page.keyboard.press("Tab");
      await focused(`#${menu} :is(select, a)`);
      await page.keyboard.press("Escape");
      await focused(`#${menu} summary`);
      assert.equal(await page.locator(`#${menu}[open]`).count(), 0);
    }
    await page.locator("#tab-chat").focus();
    await page.keyboard.press("ArrowRight");
    await page.locator("#stats").waitFor();
    assert.equal((await addressOf(page)).searchParams.get("tab"), "stats");
    await page.keyboard.press("ArrowLeft");

    await page.locator("#chat").focus();
    await page.keyboard.press("Home");
    await has("a-0"); // which is older than the backfill
    await following(false);
    chat.say([textAction("new")]);
    await page.locator("#latest").waitFor();
    await tabTo("#latest");
    await page.keyboard.press("Enter");
    await following(true);
    await focused("#chat");

    await page.locator("#ticker .paid").focus();
    await page.keyboard.press("Enter");
    await focused(rowOf("p"));
    await page.locator("input[name=q]").focus();
    await page.keyboard.type("needle");
    await page.keyboard.press("Enter");
    await page.locator("#found li").waitFor();
    await page.locator("#find button").focus();
    await tabTo("#found li button");
    await page.keyboard.press("Enter");
    await focused(rowOf("needle"));
    await page.locator("input[value=chat][name=types]").focus();
    await page.keyboard.press("Space");
    assert.equal(await page.locator("#chat [data-type=chat]").count(), 0);
  });

  it("hides the log behind the statistics from everybody, and keeps its style and its newest row", async () => {
    const { page, chat } = pages;
    await visit();
    await page.locator("#tab-stats").click();
    const row = (id: string) => `document.querySelector('${rowOf(id)}')`;
    assert.equal(await evaluate(`${row("a-29")}.checkVisibility()`), false);
    // Else all rows would be styled again.
    assert.equal(await evaluate(`getComputedStyle(${row("a-29")}).visibility`), "visible");
    assert.doesNotMatch(await treeOf(page, "main"), /log|"Chat"/);
    await page.locator("#panel-stats").focus();
    await page.keyboard.press("Shift+Tab");
    assert.equal(await evaluate("document.activeElement.closest('#panel-chat')"), null);
    chat.say(texts("hidden", 40));
    await has("hidden-39");
    await page.locator("#tab-chat").click();
    await page.locator(rowOf("hidden-39")).waitFor();
    await until(page, `${row("hidden-39")}.getBoundingClientRect().bottom <= innerHeight`);
    assert.equal(await page.locator("#chat").getAttribute("data-following"), "true");
    assert.match(await treeOf(page, "main"), /log "Chat"/);
  });

  it("has no shortcut of a single key", async () => {
    const { page } = pages;
    await visit();
    const state = () =>
      evaluate(
        "[location.href, document.activeElement.id, document.querySelector('#chat').dataset.following]",
      );
    for (const place of ["#chat", "#tab-chat"]) {
      await page.locator(place).focus();
      const before = await state();
      await page.keyboard.type("abcdefghijklmnopqrstuvwxyz0123456789/?.");
      assert.deepEqual(await state(), before);
    }
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
