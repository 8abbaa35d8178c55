/** The page of the probe, for operators. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NO_CHROMIUM } from "../support/browser.ts";
import { usePages } from "../support/pages.ts";

describe("the probe's page", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/probe", { width: 1000, height: 800 }, { tokens: "reusable" });

  it("has 24 rows that wait for the one answer, and names the video of the result", async () => {
    const { page, chat, relay, videoId } = pages;
    chat.say(3);
    await page.goto(`${relay.url}/probe?videoId=${videoId}`);
    const rows = page.locator("#probe tr[data-label][data-endpoint]");
    assert.equal(await rows.count(), 24);
    const progress = page.locator("#probe [role=progressbar]");
    let whileItRuns: unknown;
    await page.route(/v1\/probe/, async (route) => {
      whileItRuns = [await progress.isVisible(), await progress.getAttribute("aria-valuenow")];
      await route.continue();
    });
    await page.locator("#probe button").first().click();
    await page.locator("#probe tr[data-ok]").first().waitFor();
    assert.deepEqual(whileItRuns, [true, null]); // the API reports no progress
    assert.equal(await progress.isVisible(), false);
    assert.equal(await rows.count(), 24);
    for (const [isOk, verdict] of [
      [true, "works"],
      [false, "no"],
    ] as const)
      assert.deepEqual(
        await page.locator(`#probe tr[data-ok=${isOk}] .result`).allInnerTexts(),
        Array(12).fill(verdict),
      );
    const words = () => page.locator("#probe-words").innerText();
    assert.match(await words(), new RegExp(`^12 of 24 .* ${videoId}\\.$`));
    await page.locator("#open input").fill("another-one");
    await page.locator("#open button").click();
    await page.waitForURL(/another-one/);
    assert.equal(await page.locator("#probe tr[data-ok]").count(), 0);
    assert.doesNotMatch(await words(), /of 24/);
  });

  it("has the focus again at its button after a probe", async () => {
    const { page, chat, relay, videoId } = pages;
    chat.say(3);
    await page.goto(`${relay.url}/probe?videoId=${videoId}`);
    const start = page.locator("#probe button");
    await start.press("Enter");
    await page.locator("#probe tr[data-ok]").first().waitFor();
    assert.equal(await page.evaluate("document.activeElement.textContent"), await start.textContent());
  });

  for (const [video, words] of [
    ["nope", /^videoId is neither .* or similar\. Did you mean @nope\?$/],
    ["no-chat-yet", /^No live chat found: (?!.*Try again).*[^.]\.$/],
  ] as const)
    it(`says why it cannot probe ${video}, and advises no other try of what stays so`, async () => {
      const { page, relay } = pages;
      await page.goto(`${relay.url}/probe?videoId=${video}`);
      await page.locator("#probe button").click();
      await page.locator("#probe [role=progressbar]").waitFor({ state: "hidden" });
      assert.match(await page.locator("#probe-words").innerText(), words);
    });

  it("advises to try again later what may work then", async () => {
    const { page, relay, videoId } = pages;
    await page.goto(`${relay.url}/probe?videoId=${videoId}`);
    await page.route(/v1\/probe/, (route) => route.abort());
    await page.locator("#probe button").click();
    await page.getByText(/ cannot be reached\. Try again later\.$/).waitFor();
    await page.unroute(/v1\/probe/);
  });

  it("asks for a video", async () => {
    const { page, relay } = pages;
    await page.goto(`${relay.url}/probe`);
    await page.locator("#probe button").click();
    assert.match(await page.locator("#probe-words").innerText(), /Open a video first/);
  });
});
