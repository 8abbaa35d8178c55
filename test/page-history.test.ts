/** The viewer page and what the service has stored: times, downloads, older messages. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NO_CHROMIUM, rowOf } from "./support/browser.ts";
import { paidAction, textAction, texts } from "./support/chat-actions.ts";
import { usePages } from "./support/pages.ts";

describe("the viewer page and the stored messages", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1000, height: 600 }, { page: 1000, kinds: ["text"] });
  const { has, visit } = pages;

  it("shows times in the zone of the reader, or of the service, or none", async () => {
    const { chat, relay, browser, videoId } = pages;
    chat.say([textAction("a")]);
    const context = await browser.newContext({ timezoneId: "Asia/Kolkata" });
    const page = await context.newPage();
    await page.goto(`${relay.url}/?videoId=${videoId}`);
    const time = page.locator(`${rowOf("a")} time[data-field=timestamp]`);
    const said = new Date((await time.getAttribute("datetime")) ?? "");
    const timeIn = (timeZone: string) =>
      new Intl.DateTimeFormat("en", { timeStyle: "short", timeZone }).format(said).replace("\u202f", " ");
    assert.equal(await time.innerText(), timeIn("Asia/Kolkata"));
    assert.match((await time.getAttribute("title")) ?? "", new RegExp(`/${said.getFullYear()}, .*:\\d\\d`));
    await page.locator("select[name=timestamps]").selectOption("service");
    assert.equal(await time.innerText(), timeIn("UTC"));
    await page.reload();
    assert.equal(await time.innerText(), timeIn("UTC"));
    await page.locator("select[name=timestamps]").selectOption("off");
    assert.equal(await time.count(), 0);
    await context.close();
  });

  it("offers what is stored as files, and what was paid", async () => {
    const { page, chat, relay } = pages;
    chat.say([...texts("a", 2), paidAction("paid", "$5.00")]);
    await visit();
    await has("paid");
    await page.locator("#download summary").click();
    const hrefs = await page.locator("#download a").evaluateAll((links) => links.map((link) => String(link)));
    const files = await Promise.all(hrefs.map(async (href) => (await fetch(href)).text()));
    const [csv = "", lines = "", text = "", ledger = ""] = files;
    assert.match(csv, /^cursor,type,id,/);
    assert.equal(csv.trim().split("\n").length, 4);
    assert.deepEqual(
      lines
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).id),
      ["a-0", "a-1", "paid"],
    );
    assert.ok(JSON.parse(lines.split("\n")[0] ?? "").details);
    assert.match(text, /words of a-0/);
    assert.match(ledger, /words of paid/);
    assert.equal(ledger.trim().split("\n").length, 2);
    await page.goto(relay.url);
    assert.equal(await page.locator("#download").isVisible(), false);
  });
});
