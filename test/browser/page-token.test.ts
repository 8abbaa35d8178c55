/** The pages on a service that needs a token: where they send it, and where it can be seen. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import type { Browser, Page, Request } from "playwright-core";
import { violationsIn } from "../support/axe.ts";
import { addressOf, faultsOf, launchChromium, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import { textAction } from "../support/chat-actions.ts";
import { startRelay, type TestRelay } from "../support/relay.ts";
import { temporaryFile } from "../support/store-subject.ts";
import { SECRET, signed } from "../support/tokens.ts";

const [VIDEO, OTHER, FOREIGN] = ["token-vid-1", "token-vid-2", "token-vid-3"];

describe("a page with a token in its address", { skip: NO_CHROMIUM }, () => {
  let relay: TestRelay;
  let browser: Browser;
  let page: Page;
  let token: string;
  let requests: Request[];
  let faults: string[];
  before(async () => {
    const settings = { RELAY_PUBLIC: "none", RELAY_TOKEN_KEY: SECRET };
    [relay, browser] = await Promise.all([startRelay({ settings }), launchChromium()]);
    token = await signed({ relay: [VIDEO, OTHER].map((video) => `watch:${video}`) });
    for (const videoId of [VIDEO, OTHER, FOREIGN])
      relay.upstream.chat(videoId, { timeoutMs: 50 }).say([textAction(`in ${videoId}`, { text: "hello" })]);
  });
  after(() => Promise.all([browser?.close(), relay?.[Symbol.asyncDispose]()]));
  beforeEach(async () => {
    page = await browser.newPage({ viewport: { width: 1000, height: 700 } });
    faults = faultsOf(page);
    requests = [];
    page.on("request", (request) => requests.push(request));
  });
  afterEach(async () => {
    await page.close();
    assert.deepEqual(faults, []);
  });

  const open = (path: string, fragment = `#token=${token}`) => page.goto(`${relay.url}${path}${fragment}`);
  const shows = (id: string) => page.locator(rowOf(id)).first().waitFor({ state: "attached" });
  const words = (part: string) => page.locator(part).first().textContent();

  /** Nothing that the page keeps, shows or sends in a URL has the token. */
  async function assertHidden(): Promise<void> {
    const kept = await page.evaluate<string>(
      `[location.href, document.documentElement.outerHTML, JSON.stringify({ ...localStorage }),
        JSON.stringify({ ...sessionStorage }), document.cookie, JSON.stringify(history.state)].join()`,
    );
    assert.ok(!kept.includes(token), "the page shows or keeps the token");
    for (const request of requests) {
      const { referer = "" } = await request.allHeaders();
      const body = request.postData() ?? "";
      assert.ok(!`${request.url().replace(/#.*/, "")}${referer}${body}`.includes(token), request.url());
    }
  }

  it("shows the chat, its totals and its stored messages, and has the token nowhere but in memory", async () => {
    await open(`/?videoId=${VIDEO}&tab=stats`);
    await shows(`in ${VIDEO}`);
    await until(page, "document.querySelector('#stats').textContent.includes('1')");
    await page.fill("input[name=q]", "hello");
    await page.press("input[name=q]", "Enter");
    await page.locator("#found li").first().waitFor({ state: "attached" });
    const ofApi = (request: Request) => request.url().includes("/v1/");
    assert.ok(requests.filter(ofApi).length >= 4, `${requests.map((request) => request.url())}`);
    for (const request of requests) {
      const due = ofApi(request) ? `Bearer ${token}` : undefined;
      assert.equal((await request.allHeaders()).authorization, due, request.url());
    }
    await assertHidden();
  });

  it("takes the token along to other videos, the page of one chat, and the overlay's set-up", async () => {
    await open(`/?videoId=${VIDEO}`);
    await shows(`in ${VIDEO}`);
    await page.fill("#open input[name=videoId]", `${VIDEO}, ${OTHER}`);
    await page.press("#open input[name=videoId]", "Enter");
    await shows(`in ${OTHER}`);
    await assertHidden();
    await page.click("[data-part=name] a");
    await until(page, `location.search === "?videoId=${VIDEO}"`);
    await shows(`in ${VIDEO}`);
    await assertHidden();
    await page.click("#overlay-setup");
    await until(page, "location.pathname === '/overlay/setup'");
    await until(page, `document.querySelector("#url")?.value.endsWith("#token=${token}")`);
    assert.equal((await addressOf(page)).hash, "");
  });

  it("downloads with the token in the header alone, and says why a download is refused", async (t) => {
    await open(`/?videoId=${VIDEO}`);
    await shows(`in ${VIDEO}`);
    await page.click("#download summary");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#download a")]);
    assert.equal(download.suggestedFilename(), `${VIDEO}.csv`);
    assert.ok(!download.url().includes(token));
    const file = await temporaryFile(t);
    await download.saveAs(file); // the browser may be the one that several files of tests share
    assert.match(await readFile(file, "utf8"), /hello/);
    await assertHidden();
    await page.route("**/v1/messages*", (route) =>
      route.fulfill({ status: 401, json: { code: "UNAUTHORIZED", message: "The token has expired." } }),
    );
    await page.click("#download a");
    await until(
      page,
      "document.querySelector('#download [role=status]').textContent === 'The token has expired.'",
    );
  });

  it("shows the service's refusal, without a token and without the right", async () => {
    await open(`/?videoId=${VIDEO}`, "");
    await page.locator("html[data-code=UNAUTHORIZED]").waitFor({ state: "attached" });
    assert.match(
      (await words("[data-part=status-words]")) ?? "",
      /^This chat cannot be shown\. This needs a token: enter it in the field Token above\.$/,
    );
    await open(`/?videoId=${FOREIGN}`);
    await page.locator("html[data-code=FORBIDDEN]").waitFor({ state: "attached" });
    assert.match((await words("[data-part=status-words]")) ?? "", /does not give the right to this\.$/);
  });

  for (const [state, fragment] of [
    ["none", ""],
    ["one without the right", `#token=`],
  ] as const)
    it(`once refused with ${state}, has a field for the token, kept in memory alone`, async () => {
      await open(`/?videoId=${FOREIGN}`, fragment && `${fragment}${token}`);
      const field = page.locator("#open input[name=token]");
      await field.waitFor();
      assert.equal(await field.getAttribute("type"), "password");
      assert.equal(await field.getAttribute("aria-label"), "Token");
      assert.deepEqual(await violationsIn(page), []);
      await page.fill("#open input[name=videoId]", VIDEO);
      await field.fill(token);
      await page.keyboard.press("Enter");
      await shows(`in ${VIDEO}`);
      assert.equal(await field.count(), 0);
      assert.equal((await addressOf(page)).href, `${relay.url}/?videoId=${VIDEO}`);
      await assertHidden();
    });

  it("has no such field before a refusal, nor for another video that is shown", async () => {
    await open(`/?videoId=${VIDEO}`);
    await shows(`in ${VIDEO}`);
    const field = page.locator("#open input[name=token]");
    assert.equal(await field.count(), 0);
    await page.fill("#open input[name=videoId]", FOREIGN);
    await page.keyboard.press("Enter");
    await field.waitFor();
    await page.fill("#open input[name=videoId]", VIDEO);
    await page.keyboard.press("Enter");
    await shows(`in ${VIDEO}`);
    assert.equal(await field.count(), 0);
  });

  it("has the field in a dock as well, which has no other controls", async () => {
    await page.setViewportSize({ width: 320, height: 600 });
    await open(`/?videoId=${VIDEO}&layout=dock`, "");
    const field = page.locator("#open input[name=token]");
    await field.click(); // in view
    await field.fill(token);
    await page.keyboard.press("Enter");
    await shows(`in ${VIDEO}`);
    assert.ok(await page.locator("#open").isHidden());
  });

  it("begins again with a token that is added to the address of the open page", async () => {
    await open(`/?videoId=${VIDEO}`, "");
    await page.locator("html[data-code=UNAUTHORIZED]").waitFor({ state: "attached" });
    await page.evaluate(`location.hash = "token=${token}"`);
    await shows(`in ${VIDEO}`);
    await assertHidden();
  });

  it("probes with it, if it has the right, and leads back to the chat", async () => {
    await open(`/probe?videoId=${VIDEO}`);
    await page.click("#probe button");
    await until(page, "/does not give the right/.test(document.querySelector('#probe-words').textContent)");
    await page.locator("#open input[name=token]").waitFor();
    await assertHidden();
    await page.click("#chat-link");
    await shows(`in ${VIDEO}`);
  });

  it("is the overlay, whose address keeps it, as OBS needs it", async () => {
    await open(`/overlay?videoId=${VIDEO}`);
    await shows(`in ${VIDEO}`);
    assert.equal((await addressOf(page)).hash, `#token=${token}`);
    for (const request of requests) assert.ok(!request.url().replace(/#.*/, "").includes(token));
  });

  it("is the overlay, which says why it was never open, and shows the chat once it has a token", async () => {
    await open(`/overlay?videoId=${VIDEO}`, "#token=none");
    await page.locator("html[data-code=UNAUTHORIZED]").waitFor({ state: "attached" });
    assert.match((await words("#status")) ?? "", /not a JSON Web Token/);
    await page.evaluate(`location.hash = "token=${token}"`);
    await shows(`in ${VIDEO}`);
    assert.equal(await page.locator("#status").isHidden(), true);
  });

  for (const wrong of ["", `&token=${"x".repeat(40)}`]) {
    const what = wrong === "" ? "no token" : "one in its query";
    it(`is the overlay, which says where to write the token if it has ${what}`, async () => {
      await open(`/overlay?videoId=${VIDEO}${wrong}`, "");
      await page.locator("html[data-code=UNAUTHORIZED]").waitFor({ state: "attached" });
      const words = await page.locator("#status").textContent();
      assert.equal(words, "This needs a token: add #token=… at the end of this source’s URL.");
    });
  }

  it("is the set-up of the overlay, which puts it into the URL for OBS and into no other", async () => {
    await open(`/overlay/setup?videoId=${VIDEO}`, "");
    await until(
      page,
      "/This needs a token: enter it in/.test(document.querySelector('#parameters').textContent)",
    );
    await page.fill("input[name=token]", token);
    await page.press("input[name=token]", "Tab");
    await until(page, "!/This needs a token/.test(document.querySelector('#parameters').textContent)");
    assert.equal(await page.inputValue("#url"), `${relay.url}/overlay?videoId=${VIDEO}#token=${token}`);
    await page.selectOption("select[name=preview]", "chat");
    await page
      .frameLocator("#preview")
      .locator(rowOf(`in ${VIDEO}`))
      .waitFor({ state: "attached" });
    assert.ok(!(await addressOf(page)).href.includes(token));
  });
});
