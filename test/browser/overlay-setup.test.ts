/** The overlay's set-up page: its controls, its preview, and the URL that it makes. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Locator } from "playwright-core";
import { CHOICES, NUMBERS } from "../../web/overlay/options.ts";
import { faultsOf, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import { textAction } from "../support/chat-actions.ts";
import { eventually } from "../support/eventually.ts";
import { usePages } from "../support/pages.ts";
import { temporaryFolder } from "../support/store-subject.ts";

const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");
const JUDGE = `axe.run({ resultTypes: ["violations"], iframes: false }).then(({ violations }) =>
  violations.map(({ id, nodes }) => [id, nodes[0].html]))`;

/** Another value than the default for every parameter, in the order of the page. */
const EVERY: [name: string, value: string][] = [
  ["videoId", "abcdefghijk"],
  ["videoIds", "abcdefghijk,abcdefghijl"],
  ["labels", "abcdefghijk:Wide"],
  ["channel", "@somebody"],
  ["all", "on"],
  ["view", "ticker"],
  ["demo", "on"],
  ["theme", "bubbles"],
  ["size", "31"],
  ["align", "right"],
  ["direction", "down"],
  ["avatars", "off"],
  ["badges", "off"],
  ["images", "off"],
  ["timestamps", "on"],
  ["types", "chat,paid"],
  ["max", "12"],
  ["backfill", "7"],
  ["fade", "60"],
  ["hold", "5"],
  ["deleted", "strike"],
  ["only", "links"],
  ["commands", "off"],
  ["minTier", "3"],
  ["minAmount", "5EUR"],
  ["sound", "on"],
  ["volume", "30"],
  ["speech", "paid"],
  ["speechFrom", "2USD"],
  ["picture", "https://pictures.example/a.png"],
  ["goal", "paid"],
  ["target", "500"],
  ["currency", "USD"],
  ["since", "2026-01-31T18:00Z"],
  ["title", "New camera"],
  ["hide", "@bot,UCx,/a+b, c/"],
  ["mark", "@me"],
];

describe("the overlay's set-up page", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/overlay/setup", { width: 1280, height: 900 });
  const { evaluate } = pages;
  let faults: string[];
  before(() => {
    faults = faultsOf(pages.page);
  });
  after(() => assert.deepEqual(faults, []));

  const field = (name: string): Locator => pages.page.locator(`#parameters [name=${name}]`);
  const problem = (name: string) => pages.page.locator(`.field:has([name=${name}]) .problem`);
  const isFine = (name: string) => problem(name).filter({ hasText: /^$/ }).waitFor({ state: "attached" });
  const url = async (): Promise<URL> => new URL(await pages.page.locator("#url").inputValue());
  const goto = (query = "") => pages.page.goto(`${pages.relay.url}/overlay/setup${query}`);

  async function set(name: string, value: string): Promise<void> {
    const control = field(name).first();
    const type = await control.getAttribute("type");
    if (type === "radio") await pages.page.locator(`#parameters [name=${name}][value=${value}]`).check();
    else if (name === "types") {
      for (const box of await field(name).all()) {
        await box.setChecked(value.split(",").includes((await box.getAttribute("value")) ?? ""));
      }
    } else if (type === "checkbox") await control.setChecked(value !== "off");
    else if ((await control.locator("option").count()) > 0) await control.selectOption(value);
    else await control.fill(value);
  }

  it("has a control for every parameter, and a URL that matches the controls", async () => {
    await goto();
    assert.equal((await url()).href, `${pages.relay.url}/overlay`);
    for (const [name, value] of EVERY) await set(name, value);
    assert.deepEqual([...(await url()).searchParams], EVERY);
    const others = ["minAmount", "sound", "speechFrom", "picture", "currency", "since", "title"];
    others.push("videoId", "videoIds", "labels", "channel", "types", "only", "hide", "mark");
    const known = [...Object.keys(CHOICES), ...Object.keys(NUMBERS), ...others];
    assert.deepEqual(new Set(EVERY.map(([name]) => name)), new Set(known));
  });

  it("names the authors by whose badges messages are shown, which then have their badges", async () => {
    await goto("?badges=owner,off,member");
    assert.deepEqual([...(await url()).searchParams], [["badges", "owner,member"]]);
    assert.equal(await field("badges").isChecked(), true);
    await field("badge-kinds").first().uncheck();
    assert.deepEqual([...(await url()).searchParams], [["badges", "member"]]);
    await field("badge-kinds").last().uncheck();
    assert.equal((await url()).search, "");
  });

  it("shows the values of its own URL, also after a reload", async () => {
    const { page } = pages;
    await goto(`?${new URLSearchParams([...EVERY, ["width", "900"], ["backdrop", "light"]])}`);
    await page.reload();
    assert.deepEqual([...(await url()).searchParams], EVERY);
    assert.equal(await page.locator("[name=width]").inputValue(), "900");
    assert.equal(await page.locator("#dimensions").innerText(), "900 × 600");
    await set("size", "40");
    const own = new URLSearchParams(await evaluate<string>("location.search"));
    assert.deepEqual([own.get("size"), own.get("width"), own.get("theme")], ["40", "900", "bubbles"]);
  });

  it("omits invalid values, and explains the fault of a list", async () => {
    await goto("?size=3000&theme=nonsense&max=7&types=none");
    assert.deepEqual([...(await url()).searchParams], [["max", "7"]]);
    await set("max", "0");
    assert.equal((await url()).search, "");
    await problem("max").getByText("Not used: enter a whole number from 1 to 200.").waitFor();
    await set("max", "5.5");
    assert.equal((await url()).search, "");
    await problem("max").getByText("Not used: enter a whole number from 1 to 200.").waitFor();
    await set("hide", "@a,/(/");
    await problem("hide").getByText("hide=/(/ cannot be used: ( has no end.").waitFor();
  });

  it("says below a field why the overlay does not use its value, as the overlay's console does", async () => {
    const { page, relay } = pages;
    const logged: string[] = [];
    await using overlay = await pages.browser.newPage();
    overlay.on("console", (message) => logged.push(message.text()));
    for (const [name, value, advice] of [
      ["minAmount", "5 €", "use an amount such as 5EUR."],
      ["sound", "http://sounds.example/a.mp3", "use an https: or data: URL."],
      ["speechFrom", "abc", "use an amount such as 5EUR."],
      ["picture", "http://x", "use an https: or data: URL."],
      ["currency", "EURO", "use three letters such as EUR."],
      ["since", "yesterday", "use a time such as 2026-01-31T18:00:00Z."],
      ["hide", "/(/", "( has no end."],
    ] as const) {
      const words = `${name}=${value} cannot be used: ${advice}`;
      await goto(`?demo=on&${new URLSearchParams({ [name]: value })}`);
      await problem(name).getByText(words).waitFor();
      await overlay.goto(`${relay.url}/overlay${(await url()).search}`);
      await eventually(true, () => logged.some((text) => text.startsWith(words)));
      await page.locator("#copy").click();
      await page
        .locator("#copied")
        .getByText(/^Copied\. But read what is said below “[\w ]+”\.$/)
        .waitFor();
      await set(name, EVERY.find(([each]) => each === name)?.[1] ?? "");
      await isFine(name);
    }
    await goto("?labels=foo"); // which only an overlay of several chats reads
    const noId =
      "labels=foo cannot be used: “foo” is neither a video id of 11 characters nor the URL of a video.";
    await problem("labels").getByText(noId).waitFor();
    await goto(`?${new URLSearchParams({ sound: "sounds/a.mp3" })}`); // a path of the service
    await isFine("sound");
  });

  it("writes a number as the overlay reads it, however it was entered", async () => {
    for (const [name, entered, written] of [
      ["fade", ".5", "0.5"],
      ["fade", "1e2", "100"],
      ["size", "8.0", "8"],
      ["backfill", "-0", "0"],
    ] as const) {
      await goto();
      await set(name, entered);
      assert.deepEqual([...(await url()).searchParams], [[name, written]]);
    }
  });

  it("says beside a field that it holds no video or channel, or one for the other field", async () => {
    await goto("?videoId=no-id&channel=Some%20body");
    await problem("videoId").getByText("This is neither the id nor the URL of a video.").waitFor();
    await problem("channel").getByText("neither a handle (@name) nor the id or URL of a channel").waitFor();
    await set("videoId", "youtube.com/@somebody");
    await problem("videoId").getByText("This is a channel: enter it in the next field.").waitFor();
    await set("channel", "https://youtu.be/abcdefghijk");
    await problem("channel").getByText("This is a video: enter it in the field above.").waitFor();
    await set("videoId", "https://youtu.be/abcdefghijk");
    await isFine("videoId");
    await set("channel", "UCabcdefghijklmnopqrstuv");
    await problem("channel").getByText("The overlay shows the video above.").waitFor();
    await set("videoId", "");
    await isFine("channel");
  });

  it("says below the field that the channel or the chat of the video does not exist", async () => {
    const { page } = pages;
    await goto("?preview=chat");
    await set("channel", "@nobody-here");
    await isFine("channel"); // it may not be complete
    await page.keyboard.press("Tab");
    await problem("channel").getByText("There is no channel @nobody-here on YouTube.").waitFor();
    await page.reload();
    await problem("channel").getByText("There is no channel @nobody-here on YouTube.").waitFor();
    await set("channel", "");
    pages.relay.upstream.chat("no-chat-now", { kind: "none" });
    await set("videoId", "no-chat-now");
    await page.keyboard.press("Tab");
    await problem("videoId").filter({ hasText: /chat/ }).waitFor();
    pages.chat.say([textAction("there")]);
    await set("videoId", pages.videoId);
    await page.keyboard.press("Tab");
    await page.frameLocator("#preview").locator(rowOf("there")).waitFor();
    await isFine("videoId");
  });

  it("takes names as people paste them, and shows a character that nobody sees", async () => {
    await goto();
    for (const name of ["＠some\u200b", "<youtube.com/@some>", "\u200bsome\u200b", "youtube.com/user/some"]) {
      await set("channel", name);
      await isFine("channel");
    }
    await set("channel", "so\u200bme");
    await problem("channel").getByText("“soU+200Bme”").waitFor();
    await set("channel", "");
    await set("videoId", "<https://youtu.be/abcdefghijk&t=5>");
    await isFine("videoId");
    await set("videoId", "abcde\u200bfghijk");
    await problem("videoId").getByText("“abcdeU+200Bfghijk”").waitFor();
  });

  it("takes a handle without its @", async () => {
    await goto();
    await set("channel", "livestreams"); // as long as the id of a video
    assert.equal((await url()).search, "?channel=@livestreams");
    await isFine("channel");
  });

  it("previews the samples or the chat according to the parameters", async () => {
    const { page, chat } = pages;
    const preview = page.frameLocator("#preview");
    await goto("?theme=plate");
    await preview.locator("html[data-theme=plate] [data-type=chat]").first().waitFor();
    await set("theme", "light");
    await preview.locator("html[data-theme=light] [data-type=chat]").first().waitFor();
    chat.say([textAction("a")]);
    await set("videoId", pages.videoId);
    await page.locator("[name=preview]").selectOption("chat");
    await preview.locator(`html[data-theme=light] ${rowOf("a")}`).waitFor();
    assert.equal((await url()).searchParams.has("demo"), false);
    const ground =
      "getComputedStyle(document.querySelector('#preview').contentDocument.body).backgroundColor";
    assert.equal(await evaluate(ground), "rgba(0, 0, 0, 0)");
  });

  it("tries CSS in the preview, which its fields write, and copies it", async () => {
    const { page } = pages;
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const row = page.frameLocator("#preview").locator("[data-type=chat]").first();
    const isStyled = (property: string, value: string) =>
      until(
        page,
        `(({ contentDocument }) => getComputedStyle(contentDocument.querySelector("[data-type=chat]") ?? contentDocument.body)
          .getPropertyValue("${property}") === "${value}")(document.querySelector("#preview"))`,
      );
    await goto();
    await row.waitFor();
    await page.locator("#css").fill(".row { letter-spacing: 3px }");
    await isStyled("letter-spacing", "3px");
    for (const [name, value] of [
      ["chat-font-family", "Georgia, serif"],
      ["chat-color", "#ff0000"],
      ["chat-author-color", "red; } * { display: none"],
      ["chat-background", "rgb(1 2 3)"],
      ["chat-width", "300px"],
    ] as const)
      await set(name, value);
    await isStyled("color", "rgb(255, 0, 0)");
    await isStyled("background-color", "rgb(1, 2, 3)");
    await problem("chat-author-color").getByText("Not used").waitFor();
    await page.locator("#copy-css").click();
    await page
      .locator("#copied")
      .getByText("Copied. But read what is said below “Colour of names”.", { exact: true })
      .waitFor();
    assert.equal(
      await evaluate("navigator.clipboard.readText()"),
      ".row { letter-spacing: 3px }\n\n:root {\n  --chat-font-family: Georgia, serif;\n  --chat-color: #ff0000;\n" +
        "  --chat-background: rgb(1 2 3);\n  --chat-width: 300px;\n}\n",
    );
    assert.equal((await url()).search, "");
    await set("chat-author-color", "red");
    await page.locator("#copy-css").click();
    await page.locator("#copied").getByText("Copied.", { exact: true }).waitFor();
    assert.equal(await page.locator("#copy[data-copied]").count(), 0, "it has copied nothing");
    await set("theme", "light"); // loads the preview again
    await page.frameLocator("#preview").locator("html[data-theme=light] [data-type=chat]").first().waitFor();
    await isStyled("letter-spacing", "3px");
    await page.reload();
    await isStyled("background-color", "rgb(1, 2, 3)");
  });

  it("keeps the preview in sight while its controls scroll, and leads back to the chat", async () => {
    const { page } = pages;
    for (const [width, height] of [
      [1280, 720],
      [844, 390],
      [390, 844],
    ] as const) {
      await page.setViewportSize({ width, height });
      await goto();
      await until(page, "document.querySelector('#url').value !== ''");
      await page.locator("#css").scrollIntoViewIfNeeded();
      await evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
      const { top, bottom } = await evaluate<{ top: number; bottom: number }>(
        "document.querySelector('#screen').getBoundingClientRect().toJSON()",
      );
      assert.ok(
        top >= 0 && bottom <= height && bottom - top >= height * 0.3,
        `${width} × ${height}: ${top} to ${bottom}`,
      );
    }
    await page.setViewportSize({ width: 1280, height: 900 });
    await goto();
    await set("videoId", `https://youtu.be/${pages.videoId}`);
    await page.keyboard.press("Tab");
    assert.equal(await field("videoId").inputValue(), pages.videoId);
    assert.equal((await url()).search, `?videoId=${pages.videoId}`);
    await page.locator("#back").click();
    await page.waitForURL(`${pages.relay.url}/?videoId=${pages.videoId}`);
  });

  it("copies the URL, and can be used by the keyboard alone", async () => {
    const { page } = pages;
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await goto(`?videoId=${pages.videoId}`);
    const reached: string[] = [];
    const focused =
      "(({ id, name, value, type }) => type === 'radio' ? name : id && !/^field/.test(id) ? id : name)(document.activeElement)";
    while (reached.at(-1) !== "mark" && reached.length < 90) {
      await page.keyboard.press("Tab");
      const now = await evaluate<string>(focused);
      reached.push(now);
      if (now === "theme") await page.keyboard.press("ArrowDown");
      if (now === "size") await page.keyboard.type("18");
      if (now === "badges") await page.keyboard.press("Space");
    }
    for (const [name] of EVERY) assert.ok(reached.includes(name), `${name} is not among ${reached}`);
    assert.equal((await url()).search, `?videoId=${pages.videoId}&theme=light&size=18&badges=off`);
    await page.locator("#copy").focus();
    await page.keyboard.press("Enter");
    await page.getByText("Copied.", { exact: true }).waitFor();
    assert.equal(await evaluate("navigator.clipboard.readText()"), (await url()).href);
  });

  it("gives a file that waits for the service", async (t) => {
    const { page, relay, chat } = pages;
    await goto(`?videoId=${pages.videoId}&title=%3C/script%3E`);
    await until(page, "document.querySelector('#url').value !== ''");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download overlay.html" }).click(),
    ]);
    assert.equal(download.suggestedFilename(), "overlay.html");
    chat.say([textAction("there")]);
    await using obs = await pages.browser.newPage();
    await obs.clock.install();
    let asked = 0;
    await obs.route(`${relay.url}/overlay**`, (route) => {
      asked += 1;
      return asked < 3 ? route.abort() : route.continue();
    });
    const file = join(await temporaryFolder(t), "overlay.html");
    await download.saveAs(file);
    await obs.goto(pathToFileURL(file).href);
    await eventually(true, async () => {
      await obs.clock.fastForward(2000);
      return asked >= 3;
    });
    await obs.locator(rowOf("there")).waitFor();
    assert.equal(new URL(obs.url()).searchParams.get("title"), "</script>");
  });

  it("warns at a copy of a URL without a chat, or beside a field with a fault", async () => {
    const { page } = pages;
    const said = async (query: string) => {
      await goto(query);
      await page.locator("#copy").click();
      await page
        .locator("#copied")
        .getByText(/^Copied/)
        .waitFor();
      return page.locator("#copied").innerText();
    };
    assert.match(await said(""), /^Copied\. But it names no chat/);
    assert.equal(await said("?demo=on"), "Copied.");
    assert.match(await said("?videoId=nonsense"), /^Copied\. But read what is said below “Video”\.$/);
    await set("hide", "/(/");
    assert.equal(await page.locator("#copied").innerText(), "");
    assert.match(await said(`?videoId=${pages.videoId}&hide=/(/`), /“Hide”/);
    assert.equal(await page.locator("#copy[data-copied]").count(), 0);
    assert.equal(await said(`?videoId=${pages.videoId}`), "Copied.");
    assert.equal(await page.locator("#copy[data-copied]").count(), 1);
    assert.equal(
      await said(`?videoId=${pages.videoId}&chat-color=nonsense`),
      "Copied.",
      "it is not in the URL",
    );
  });

  it("has its legends in line with the labels, and with a gap above them", async () => {
    await goto();
    const [label, ...legends] = await evaluate<{ left: number; gap: number }[]>(`(() => {
      const ofWords = (element) => {
        const range = document.createRange();
        range.selectNodeContents(element);
        return range.getBoundingClientRect();
      };
      const look = document.querySelector("fieldset:has([name=size])");
      const elements = [look.querySelector(".field > label"), ...document.querySelectorAll(".group fieldset > legend")];
      const above = [...document.querySelectorAll(".group > legend, .field, .switch, .themes, .chips")];
      return elements.map((element) => {
        const { left } = ofWords(element);
        const { top } = element.parentElement.getBoundingClientRect();
        const bottoms = above.map((each) => each.getBoundingClientRect().bottom);
        return { left, gap: top - Math.max(...bottoms.filter((bottom) => bottom <= top)) };
      });
    })()`);
    assert.equal(legends.length, 3);
    for (const { left, gap } of legends) {
      assert.equal(left, label?.left);
      assert.ok(Math.abs(gap - 14.4) < 1, `${gap}`);
    }
  });

  it("passes axe by day and night, and scrolls nothing sideways", async () => {
    const { page } = pages;
    await goto("?hide=/(/");
    await evaluate(AXE);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      assert.deepEqual(await evaluate(JUDGE), [], colorScheme);
    }
    await page.setViewportSize({ width: 320, height: 700 });
    for (const size of ["100%", "200%"]) {
      await evaluate(`document.documentElement.style.fontSize = "${size}"`);
      await until(page, "innerWidth === 320 && document.documentElement.scrollWidth <= innerWidth");
    }
  });
});
