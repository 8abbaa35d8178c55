/** The viewer page for those who use it by keyboard, by screen reader, or on a small screen. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { NO_CHROMIUM, until } from "./support/browser.ts";
import { texts } from "./support/chat-actions.ts";
import { TEXT } from "./support/chat-items.ts";
import { bannered, SENT } from "./support/every-kind.ts";
import { usePages } from "./support/pages.ts";

const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");
const JUDGE = `axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations
  .filter(({ impact }) => /serious|critical/.test(impact))
  .map(({ id, nodes }) => [id, nodes.length, nodes[0].html.slice(0, 200), nodes[0].failureSummary]))`;

/** Every action that is known, as if each was of another item. */
const EVERY_KIND = Object.values(SENT)
  .flat()
  .map((action, at) => JSON.parse(JSON.stringify(action).replaceAll("made-up-id", `made-up-${at}`)));

describe("the viewer page is for everybody", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1280, height: 720 }, { page: 200 });
  const { evaluate, has } = pages;
  const visit = async (): Promise<void> => {
    pages.chat.say([...EVERY_KIND, bannered(TEXT, { actionId: "banner-2" }), ...texts("a", 30)]);
    await pages.visit();
    await has("a-29");
  };

  for (const width of [320, 768, 1440]) {
    it(`has no serious fault for axe by day and night, and nothing to scroll sideways, at ${width} px`, async () => {
      const { page } = pages;
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ reducedMotion: "reduce" }); // a colour that changes is none to judge
      await visit();
      await evaluate("document.querySelector('#filters').toggleAttribute('data-open', true)");
      await evaluate(AXE);
      for (const theme of ["light", "dark"]) {
        await page.locator("select[name=theme]").selectOption(theme);
        for (const tab of width === 320 ? ["stats", "chat"] : ["chat"]) {
          await page.locator(`#tab-${tab}`).click();
          assert.deepEqual(await evaluate(JUDGE), [], `${theme} ${tab}`);
          const fits = await evaluate("document.documentElement.scrollWidth <= innerWidth");
          assert.ok(fits, `${theme} ${tab} scrolls sideways`);
        }
      }
      await evaluate("localStorage.clear()");
    });
  }

  it("can be worked by the keyboard alone", async () => {
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

  it("speaks new rows only while they come slowly", async () => {
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

  it("speaks nothing of the backfill, however short", async () => {
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
