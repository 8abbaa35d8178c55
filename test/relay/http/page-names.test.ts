/** The words of the first page about the service: its name, a page about it, the chats that it shows. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startRelay, type TestRelayOptions } from "../../support/relay.ts";

async function firstPage(settings: NonNullable<TestRelayOptions["settings"]>) {
  await using relay = await startRelay({ settings });
  const response = await fetch(relay.url);
  return { html: await response.text(), etag: response.headers.get("etag") };
}

const about = (html: string) => /<h1 [^>]*id="about">(.*?)<\/h1>/.exec(html)?.[1];
const chats = (html: string) => /<p data-part="chats">(.*?)<\/p>/.exec(html)?.[1];

describe("the first page", () => {
  it("is a live chat without a name, if none is set", async () => {
    const { html } = await firstPage({});
    assert.deepEqual([about(html), chats(html)], ["Live chat", undefined]);
    assert.match(html, /<title>Live chat<\/title>/);
  });

  it("names the service, and leads to the page about it", async () => {
    const url = "https://example.org/chats?a=1&b=2";
    const { html, etag } = await firstPage({ RELAY_NAME: "Our chats", RELAY_ABOUT_URL: url });
    assert.equal(
      about(html),
      `<a href="https://example.org/chats?a=1&#38;b=2" rel="noopener noreferrer">Our chats</a>`,
    );
    assert.match(html, /<title>Our chats<\/title>/);
    assert.notEqual(etag, (await firstPage({ RELAY_NAME: "Our chats" })).etag);
  });

  it("takes no name for markup", async () => {
    const RELAY_NAME = `</h1><script src="x">$&$1"'`;
    const { html } = await firstPage({ RELAY_NAME });
    assert.equal(about(html), `&#60;/h1&#62;&#60;script src=&#34;x&#34;&#62;$&#38;$1&#34;'`);
  });

  it("names the videos and channels that it shows, if not all", async () => {
    const { html } = await firstPage({ RELAY_PUBLIC: "rooms,watch:@mine,watch:abc-def_123" });
    assert.equal(
      chats(html),
      `This service shows <a href="?channel=@mine">@mine</a>, <a href="?videoId=abc-def_123">abc-def_123</a>.`,
    );
    for (const RELAY_PUBLIC of ["watch,watch:@mine", "none"])
      assert.equal(chats((await firstPage({ RELAY_PUBLIC })).html), undefined);
  });
});
