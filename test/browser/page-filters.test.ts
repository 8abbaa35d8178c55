/** What a moderator filters and reads: by role, payment and link; words that were found; long messages. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { violationsIn } from "../support/axe.ts";
import { addressOf, idsOf, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import { deletionOf, linkRun, paidAction, textAction, texts } from "../support/chat-actions.ts";
import { eventually } from "../support/eventually.ts";
import { usePages } from "../support/pages.ts";

const badge = (kind: string) => ({
  liveChatAuthorBadgeRenderer: { icon: { iconType: kind }, tooltip: kind },
});
const by = (id: string, kind: string) => {
  const action = JSON.stringify(textAction(id, { author: `@${kind.toLowerCase()}` }));
  return JSON.parse(action.replace('"authorBadges":[]', `"authorBadges":[${JSON.stringify(badge(kind))}]`));
};
/** With tiers by amount, as the upstream colours them: blue, and red. */
const paid = (id: string, amount: string, header: number) =>
  JSON.parse(
    JSON.stringify(paidAction(id, amount)).replace(
      /"headerBackgroundColor":\d+/,
      `"headerBackgroundColor":${header}`,
    ),
  );
const BLUE = 4279592384;
const RED = 4291821568;
const link = () => textAction("link", { runs: [linkRun("example.org", "https://example.org/")] });
/** In the order of their times. */
const SAID = [
  ...[textAction("plain"), by("owner", "OWNER"), by("mod", "MODERATOR"), link()],
  ...[paid("small", "€1.00", BLUE), paid("big", "€50.00", RED), paid("yen", "¥90000", RED)],
];
const CASES: [query: string, shown: string[]][] = [
  ["badges=owner,moderator", ["owner", "mod"]],
  ["badges=moderator", ["mod"]],
  ["minTier=5", ["plain", "owner", "mod", "link", "big", "yen"]],
  ["minAmount=5EUR", ["plain", "owner", "mod", "link", "big"]],
  ["only=links", ["link"]],
  ["minTier=5&types=paid", ["big", "yen"]],
];

describe("filters by role, payment and link", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1000, height: 800 }, { kinds: ["text"] });
  const { evaluate, has, visit } = pages;
  const boxes = (name: string) =>
    evaluate<string[]>(
      `[...document.querySelectorAll('input[name=${name}]:checked')].map(({ value }) => value)`,
    );

  it("show the same on page and overlay, and let deletions through", async () => {
    const { page, relay, chat, videoId } = pages;
    chat.say(SAID);
    for (const path of ["/", "/overlay"])
      for (const [query, shown] of CASES) {
        await page.goto(`${relay.url}${path}?videoId=${videoId}&backfill=50&${query}`);
        await has(shown.at(-1) ?? "");
        assert.deepEqual(await idsOf(page), shown, `${path} ${query}`);
      }
    chat.say([deletionOf("mod")]);
    await visit("&badges=moderator&types=chat,moderation&deleted=strike");
    await page.locator("[data-type=deleted]").waitFor();
    assert.match(await page.locator(rowOf("mod")).innerText(), /deleted$/);
    assert.match(
      await page.locator("[data-type=deleted]").innerText(),
      /A message of @moderator was deleted/,
    );
  });

  it("are in the controls and in the URL, and apply to the rows that are there", async () => {
    const { page, chat } = pages;
    chat.say(SAID);
    await visit("&badges=owner&minTier=2&only=links&minAmount=5EUR");
    await page.locator("#chat[data-filtered]").waitFor();
    assert.deepEqual([await boxes("badges"), await boxes("only")], [["owner"], ["links"]]);
    assert.equal(await page.locator("input[name=minAmount]").inputValue(), "5EUR");
    const tier = page.getByLabel("Super Chats from");
    assert.equal(await tier.inputValue(), "2");
    assert.equal(await tier.getAttribute("name"), "minTier");
    assert.deepEqual(await violationsIn(page), []);
    await page.locator("input[name=only]").uncheck();
    await page.locator("input[name=badges][value=owner]").uncheck();
    await page.locator("input[name=minAmount]").fill("");
    await page.keyboard.press("Tab");
    await tier.selectOption("7");
    await has("yen");
    await until(page, "location.search.endsWith('&minTier=7')");
    assert.deepEqual(await idsOf(page), ["plain", "owner", "mod", "link", "big", "yen"]);
    await page.locator("input[name=badges][value=moderator]").check();
    assert.deepEqual(await idsOf(page), ["mod"]);
    await page.goBack();
    await has("yen");
  });

  it("say beside the field why an amount cannot be used, and leave it out of the URL", async () => {
    const { page, chat } = pages;
    chat.say(SAID);
    await visit("&minAmount=5EUR");
    const field = page.getByLabel("Paid at least");
    const words = (amount: string) =>
      page.getByText(`minAmount=${amount} cannot be used: use an amount such as 5EUR.`, { exact: true });
    const isMarked = async () => (await field.getAttribute("aria-invalid")) === "true";
    await field.fill("5");
    await page.keyboard.press("Enter");
    await words("5").waitFor();
    assert.ok(await isMarked());
    assert.equal((await addressOf(page)).searchParams.get("minAmount"), null);
    await has("small");
    await page.keyboard.press("Tab");
    assert.equal(await field.inputValue(), "5", "it can be corrected");
    await field.fill("abc");
    await page.keyboard.press("Tab");
    await words("abc").waitFor();
    await page.locator("input[name=badges][value=owner]").check();
    assert.deepEqual([await field.inputValue(), await isMarked()], ["abc", true]);
    assert.deepEqual(await violationsIn(page), []);
    const about = await field.getAttribute("aria-describedby");
    assert.equal(await page.locator(`#${about}`).innerText(), await words("abc").innerText());
    await page.goBack();
    await page.goBack();
    await until(page, "document.querySelector('input[name=minAmount]').value === '5EUR'");
    assert.ok(!(await isMarked()));
    await field.fill("abc");
    await page.keyboard.press("Tab");
    await words("abc").waitFor();
    await field.fill("7 usd");
    await page.keyboard.press("Tab");
    await words("abc").waitFor({ state: "detached" });
    assert.ok(!(await isMarked()));
    assert.equal((await addressOf(page)).searchParams.get("minAmount"), "7 usd");
  });

  it("find older messages by the service's own filters", async () => {
    const { page, chat } = pages;
    chat.say([by("old", "MODERATOR"), ...texts("a", 30), paid("small", "€1.00", BLUE), textAction("z")]);
    await visit("&backfill=5&badges=moderator&minTier=5&minAmount=5EUR");
    const asked = page.waitForRequest(/v1.messages.*badges=moderator/);
    await page.locator("#older").click();
    await has("old");
    const { searchParams } = new URL((await asked).url());
    assert.deepEqual([searchParams.get("minTier"), searchParams.get("minAmount")], ["5", "5EUR"]);
    assert.deepEqual(await idsOf(page), ["old"]);
  });

  it("leave badges of the overlay on and off as they were", async () => {
    const { page, relay, chat, videoId } = pages;
    chat.say(SAID);
    const refused: string[] = [];
    page.on("console", (message) => refused.push(message.text()));
    for (const [badges, count] of [
      ["on", 1],
      ["off", 0],
      ["moderator", 1],
    ] as const) {
      await page.goto(`${relay.url}/overlay?videoId=${videoId}&backfill=50&badges=${badges}`);
      await has("mod");
      assert.equal(await page.locator(`${rowOf("mod")} [data-field=badge]`).count(), count, badges);
    }
    await page.goto(`${relay.url}/overlay?videoId=${videoId}&badges=moderater`);
    await has("mod");
    page.removeAllListeners("console");
    assert.deepEqual(
      refused.filter((text) => text.includes("cannot be used")),
      ["badges=moderater cannot be used: use some of owner, moderator, verified, member."],
    );
  });

  it("mark the words that were found, in rows and in what a search finds, and change no text", async () => {
    const { page, chat } = pages;
    const runs = [{ text: "Ünder ＦＩＮＤ me, find " }, linkRun("find.example", "https://find.example/")];
    chat.say([textAction("f", { runs, author: "@Finder" }), textAction("g", { text: "else" })]);
    await visit("&q=find");
    await has("f");
    const marks = () => page.locator(`${rowOf("f")} mark`).allInnerTexts();
    await page
      .locator(`${rowOf("f")} mark`)
      .first()
      .waitFor();
    assert.deepEqual(await marks(), ["Find", "ＦＩＮＤ", "find", "find"]);
    const words = page.locator(`${rowOf("f")} [data-field=message]`);
    assert.equal(await words.textContent(), "Ünder ＦＩＮＤ me, find find.example");
    assert.equal(await words.locator("a").textContent(), "find.example");
    await page.getByRole("button", { name: "Find in all" }).click();
    await page.locator("#found mark").first().waitFor();
    assert.deepEqual(await page.locator("#found mark").allInnerTexts(), ["Find", "ＦＩＮＤ", "find", "find"]);
    await page.locator("#found-close").click();
    assert.deepEqual(await violationsIn(page), []);
    await page.locator("input[name=q]").fill("");
    await has("g");
    assert.equal(await page.locator("mark").count(), 0);
  });
});

describe("long messages and small windows", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 600, height: 700 }, { kinds: ["text"] });
  const { evaluate, has, visit } = pages;
  const long = Array.from({ length: 30 }, (_, n) => `line ${n}`).join("\n");
  const flowing = "words without any line break ".repeat(40);
  const heightOf = (id: string) =>
    evaluate<number>(
      `document.querySelector('${rowOf(id)} [data-field=message]').parentElement.clientHeight`,
    );

  it("are folded to ten lines, with a button, and keep their words", async () => {
    const { page, chat } = pages;
    chat.say([
      textAction("long", { text: long }),
      paidAction("paid", "€5.00", { text: flowing }),
      textAction("wide", { text: flowing.slice(0, 500) }),
      textAction("z"),
    ]);
    await visit();
    await has("z");
    for (const id of ["long", "paid"]) {
      const row = page.locator(rowOf(id));
      await page.locator(`${rowOf(id)}[data-folded]`).waitFor();
      assert.equal(await row.locator("[data-field=message]").textContent(), id === "long" ? long : flowing);
      const folded = await heightOf(id);
      assert.deepEqual(await violationsIn(page), []);
      await row.getByRole("button", { name: "More" }).click();
      assert.equal(await row.getAttribute("data-folded"), null);
      assert.ok((await heightOf(id)) > folded, `${folded}`);
      assert.equal(await evaluate("document.activeElement.id"), "chat");
    }
    assert.equal(await page.locator("[data-folded]").count(), 0);
    await page.setViewportSize({ width: 320, height: 700 });
    await page.locator(`${rowOf("wide")}[data-folded]`).waitFor();
    assert.equal(await page.locator("[data-folded]").count(), 1, "what the reader has unfolded stays so");
    await page.setViewportSize({ width: 600, height: 700 });
  });

  it("are folded again when their row is drawn again, and by the width of the log", async () => {
    const { page, chat } = pages;
    chat.say([textAction("long", { text: long }), textAction("wide", { text: flowing.slice(0, 500) })]);
    await visit();
    await has("wide");
    await page.locator(`${rowOf("long")}[data-folded]`).waitFor();
    await page.locator("#filters-toggle").click();
    await page.locator("input[name=images]").uncheck(); // draws all rows again
    await page.locator("#filters-toggle").click();
    await page.locator(`${rowOf("long")}[data-folded] > .more`).waitFor();
    assert.equal(await page.locator("[data-folded]").count(), 1);
    await page.setViewportSize({ width: 320, height: 700 });
    await page.locator(`${rowOf("wide")}[data-folded]`).waitFor();
    await page.setViewportSize({ width: 600, height: 700 });
    await page.locator(`${rowOf("wide")}:not([data-folded])`).waitFor();
  });

  it("are cut at ten lines on the overlay", async () => {
    const { page, relay, chat, videoId } = pages;
    chat.say([
      textAction("ten", { text: long.split("\n").slice(0, 10).join("\n") }),
      textAction("long", { text: long }),
    ]);
    await page.goto(`${relay.url}/overlay?videoId=${videoId}&backfill=50&size=12`);
    await has("long");
    assert.equal(await heightOf("long"), await heightOf("ten"));
  });

  it("leave eight rows in a phone held sideways, and a dock of 320 px without sideways scrolling", async () => {
    const { page, chat } = pages;
    chat.say([
      paidAction("p", "€5.00"),
      ...texts("a", 40),
      textAction("z", { text: "x".repeat(400), author: `@${"y".repeat(90)}` }),
      ...texts("b", 12),
    ]);
    await page.setViewportSize({ width: 844, height: 390 });
    await visit();
    await has("b-11");
    const seen = await evaluate<number>(`(() => {
      const { top, bottom } = document.querySelector("#chat").getBoundingClientRect();
      const boxes = [...document.querySelectorAll("#chat .row")].map((row) => row.getBoundingClientRect());
      return boxes.filter((box) => box.top >= top - 1 && box.bottom <= bottom + 1).length;
    })()`);
    assert.ok(seen >= 8, `${seen} rows`);
    await page.locator("#filters-toggle").click();
    assert.ok(await page.locator("input[name=q]").isVisible());
    assert.deepEqual(await violationsIn(page), []);
    await page.setViewportSize({ width: 320, height: 600 });
    await visit("&layout=dock&deleted=strike");
    await has("z");
    // Neither wide, by whatever font, nor reached by Tab.
    for (const each of await page.locator("header > :not(h1)").all()) assert.ok(await each.isHidden());
    const wider =
      "[document.documentElement, document.querySelector('#chat')].map((each) => each.scrollWidth - each.clientWidth)";
    assert.deepEqual(await evaluate(wider), [0, 0]);
    assert.deepEqual(await violationsIn(page), []);
    await page.setViewportSize({ width: 600, height: 700 });
  });
});

describe("reading aloud", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1000, height: 800 }, { kinds: ["text"] });
  const { evaluate, has, stateIs, visit } = pages;

  it("is off, and when it is on says one message in two seconds, and each paid one", async () => {
    const { page, chat } = pages;
    const modules: string[] = [];
    page.on("request", (request) => modules.push(request.url()));
    chat.say(texts("a", 3));
    await page.clock.install();
    await visit();
    await has("a-2");
    await page.clock.runFor(4000); // what the page begins with is not read
    // Bytes of the stream, as the page's clock ran ahead of its keepalives.
    chat.say(texts("b", 1));
    await has("b-0");
    assert.equal(await page.locator("#aloud").count(), 0);
    assert.deepEqual(
      modules.filter((url) => url.includes("aloud")),
      [],
    );
    await page.locator("input[name=aloud]").check();
    await page.locator("#aloud[aria-live=polite]").waitFor({ state: "attached" });
    assert.deepEqual(await violationsIn(page), []);
    // An observer hears of it only when all timers of a tick have run: late, on a busy machine.
    await evaluate(`
      window.said = [];
      const { get, set } = Object.getOwnPropertyDescriptor(Node.prototype, "textContent");
      Object.defineProperty(document.querySelector("#aloud"), "textContent", {
        get,
        set(text) {
          said.push([performance.now(), text]);
          set.call(this, text);
        },
      })`);
    chat.say([textAction("one")]);
    await until(page, "said.length === 1");
    const fast = ["two", "three", "four", "five"].map((id) => textAction(id));
    chat.say([...fast, paidAction("p", "€5.00"), paidAction("q", "€6.00"), textAction("last")]);
    await until(page, "said.at(-1)[1] === '@somebody: words of last'");
    const said = await evaluate<[number, string][]>("said");
    const heard = said.map(([, text]) => text);
    const paidOnes = ["@somebody: €5.00 words of p", "@somebody: €6.00 words of q"];
    assert.deepEqual(
      heard.filter((text) => text.includes("€")),
      paidOnes,
    );
    assert.ok(heard.length < 7, heard.join());
    for (const [at, [ms]] of said.entries()) assert.ok(at === 0 || ms - (said[at - 1]?.[0] ?? 0) >= 1990);
    assert.equal(await page.locator("#chat").getAttribute("aria-live"), "off");
    assert.match(await evaluate<string>("location.search"), /aloud=on/);
    await page.locator("input[name=aloud]").uncheck();
    assert.equal(await page.locator("#aloud").count(), 0);
  });

  const wordsOf = (id: string) => `@somebody: €5.00 words of ${id}`;
  const isThere = (id: string) => `document.querySelector('${rowOf(id)}') !== null`;
  /** Says paid messages once the page reads aloud, and waits until the first of them is read. */
  async function begin(ids: readonly string[]): Promise<void> {
    const { page, chat } = pages;
    await page.clock.install();
    await visit("&aloud=on");
    await stateIs("open");
    await page.locator("#aloud").waitFor({ state: "attached" });
    await page.clock.runFor(4000); // what the page begins with is not read
    await evaluate(`
      window.said = [];
      const voice = document.querySelector("#aloud");
      new MutationObserver(() => said.push(voice.textContent)).observe(voice, { childList: true });`);
    chat.say(ids.map((id) => paidAction(id, "€5.00")));
    await until(page, `said.includes("${wordsOf(ids[0] ?? "")}")`);
  }

  it("leaves out messages deleted before their turn, and forgets words that are deleted later", async () => {
    const { page, chat } = pages;
    const many = Array.from({ length: 20 }, (_, at) => `p-${at}`);
    await begin([...many, "gone", "last"]);
    chat.say(texts("t", 600)); // so many that the rows of all others leave the page
    await until(page, isThere("t-599"));
    assert.equal(await page.locator(rowOf("gone")).count(), 0);
    chat.say([deletionOf("gone"), textAction("newest")]);
    await until(page, isThere("newest"));
    await eventually("@somebody: words of newest", async () => {
      await page.clock.runFor(500);
      return evaluate("said.at(-1)");
    });
    const heard = (await evaluate<string[]>("said")).filter((text) => text.includes("€"));
    assert.deepEqual(heard, [...many, "last"].map(wordsOf));
    chat.say([deletionOf("newest")]);
    await until(page, "!document.body.textContent.includes('words of newest')");
  });

  it("says paid messages that came while the connection was lost", async () => {
    const { page, chat } = pages;
    await begin(["before"]);
    const again = page.waitForRequest((request) => request.url().includes("/v1/stream"));
    await page.clock.runFor(20_000); // without a keepalive
    await again;
    chat.say([paidAction("meanwhile", "€5.00")]);
    await eventually(wordsOf("meanwhile"), async () => {
      await page.clock.runFor(500);
      return evaluate("said.at(-1)");
    });
  });

  it("says no more of a chat once another is opened", async () => {
    const { page, relay } = pages;
    relay.upstream.chat("other-aloud", { timeoutMs: 50 }).say([textAction("other")]);
    await begin(Array.from({ length: 20 }, (_, at) => `p-${at}`));
    await page.locator("#open input[name=videoId]").fill("other-aloud");
    await page.keyboard.press("Enter");
    await until(page, isThere("other"));
    assert.equal(await page.locator("#aloud").textContent(), "");
    const count = await evaluate<number>("said.length");
    await page.clock.runFor(10_000);
    assert.equal(await evaluate("said.length"), count);
  });
});
