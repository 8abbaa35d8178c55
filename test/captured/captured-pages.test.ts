/** Captured pages, and captured actions with one field missing or changed, for the readers of `upstream/`. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { asArray, asObject } from "../../src/base/json.ts";
import { type ChatPage, readChatPage, readNextPage } from "../../src/upstream/page/chat-page.ts";
import { credentialsInPage, credentialsInServiceWorker } from "../../src/upstream/page/credentials.ts";
import { videoData } from "../../src/upstream/page/initial-data.ts";
import { assertHarmless } from "../support/action-mutants.ts";
import { capturedFiles, capturedJson, capturedText, noCaptures } from "../support/captures.ts";
import { ROOT, Run } from "../support/command.ts";
import { Stream } from "../support/stream.ts";

/** The keys and kinds of values, without the values: actions of one form have the same mutants. */
function formOf(value: unknown): unknown {
  const list = asArray(value);
  if (list) return list.map(formOf);
  const object = asObject(value);
  if (!object) return typeof value;
  return Object.fromEntries(Object.entries(object).map(([key, held]) => [key, formOf(held)]));
}

/** The actions of a capture, whatever it is. */
function actionsIn(node: unknown): readonly unknown[] {
  const found = Object.entries(asObject(node) ?? {}).flatMap(([key, held]) => {
    if (/(?:Action|Command)$/.test(key)) return [node];
    return key === "actions" ? (asArray(held) ?? []) : actionsIn(held);
  });
  return asArray(node) ?? found;
}

describe("the readers of pages", { skip: noCaptures }, () => {
  it("reads captured watch pages and their players", () => {
    const statuses: Record<string, string> = {
      "watch-live-2026.html": "OK",
      "watch-replay-2021.html": "OK",
      "watch-no-chat-2026.html": "UNPLAYABLE",
    };
    for (const [page, status] of Object.entries(statuses)) {
      const html = capturedText(`pages/${page}`);
      assert.ok(Object.hasOwn(videoData(html).content?.contents ?? {}, "twoColumnWatchNextResults"), page);
      const playability = videoData(html).player()?.playabilityStatus;
      assert.equal((playability as { status?: unknown }).status, status, page);
    }
  });

  it("reads captured service workers and pages", () => {
    const apiKey = "recorded-key-03-xxxxxxxxxxxxxxxxxxxxxxx";
    const full = credentialsInServiceWorker(capturedText("pages/sw.full-2026.js"));
    assert.deepEqual(full, { apiKey, clientVersion: "2.20260612.01.00" });
    assert.deepEqual(credentialsInServiceWorker(capturedText("pages/sw.stub-2026.js")), {});

    const page = credentialsInPage(capturedText("pages/watch-replay-2021.html"));
    assert.deepEqual(page, {
      apiKey,
      clientVersion: "2.20211124.00.00",
      visitorData: "Cgt4b2xLa2FjZmhaWSjP8YONBg%3D%3D",
    });
    const { clientVersion, visitorData } = credentialsInPage(capturedText("pages/watch-live-2026.html"));
    assert.equal(clientVersion, "2.20260213.01.00");
    assert.match(visitorData ?? "", /^CgtFakxtTDdj.*%3D$/);
  });

  it("reads what captured watch pages show of their videos, in any language, and of no other's", () => {
    const told = (page: string, videoId: string) =>
      readChatPage(capturedText(`pages/${page}`), videoId, "all").video;
    assert.deepEqual(told("watch-live-2026.html", "qT5OTDvJK1Q"), {
      title:
        '【 Minecraft 】新ホロ鯖！"んな電鉄"メトロ線の装飾をするのら！！！＃１４【姫森ルーナ/ホロライブ】',
      channel: { id: "UCa9Y57gfeY0Zro_noHRVrnw", name: "Luna Ch. 姫森ルーナ", handle: "@himemoriluna" },
      startedAt: "2026-02-17T11:58:03.000Z",
    });
    assert.deepEqual(told("watch-replay-2021.html", "dchqdFOW8EI"), {
      title: "[Node/TypeScript] Youtubeのチャット取得するやつ ～テスト書く編～ [npm/jest]",
      channel: { id: "UCxkOLgdNumvVIQqn5ps_bJA", name: "創好リナ [バーチャルイキリプログラマ]" },
      startedAt: "2021-11-23T05:23:44.000Z",
      endedAt: "2021-11-23T09:59:30.000Z",
    });
    assert.equal(told("watch-no-chat-2026.html", "qS50yDHZOx4")?.channel?.handle, "@akirosenthal");
    assert.equal(told("watch-live-2026.html", "dchqdFOW8EI"), undefined);
    // An answer of `next` is the content of a watch page.
    const { content } = videoData(capturedText("pages/watch-live-2026.html"));
    const { startedAt: _, ...said } = told("watch-live-2026.html", "qT5OTDvJK1Q") ?? {};
    assert.deepEqual(readNextPage(content, "qT5OTDvJK1Q", "all").video, said);
  });

  it("reads captured watch pages", () => {
    const read = (page: string, videoId: string, view: "all" | "top"): ChatPage =>
      readChatPage(capturedText(`pages/${page}`), videoId, view);
    for (const view of ["all", "top"] as const) {
      // Both menu items of the 2026 page are dead.
      const live = read("watch-live-2026.html", "qT5OTDvJK1Q", view);
      assert.equal(live.chat?.chatType, "liveChatRenderer");
      assert.ok(live.chat.continuation.startsWith("0ofMyAOAARpeQ2lr"));
      assert.deepEqual(live.chat.actions, []);

      const replay = read("watch-replay-2021.html", "dchqdFOW8EI", view);
      assert.equal(replay.chat?.chatType, "liveChatReplayRenderer");
      assert.ok(replay.chat.continuation.endsWith(view === "all" ? "QAFyAggB" : "QAFyAggEeAE%3D"));

      const none = read("watch-no-chat-2026.html", "qS50yDHZOx4", view);
      assert.match(none.chat ? "" : none.why, /^the video is for members of its channel only \(/);
    }
  });

  it("reads a captured popout page, whose menu tokens work", () => {
    const html = `<script>window["ytInitialData"] = ${capturedText("pages/popout-initial-data-2020.json")};</script>`;
    const all = readChatPage(html, "7kdepDepMjk", "all");
    const top = readChatPage(html, "7kdepDepMjk", "top");
    assert.equal(all.chat?.actions.length, 11);
    assert.ok(all.chat.continuation.endsWith("ggECCAE%3D"));
    assert.ok(top.chat?.continuation.startsWith("0ofMyAOkARpQ"));
  });
});

describe("a missing, empty, mistyped or huge field of a captured action", { skip: noCaptures }, () => {
  it("neither throws nor touches another message", () => {
    const folders = ["actions", "live", "mobile", "replay"].flatMap(capturedFiles);
    const pages = capturedFiles("pages").filter((name) => name.endsWith(".json"));
    const forms = new Map<string, unknown>();
    for (const name of [...folders, ...pages]) {
      for (const action of actionsIn(capturedJson(name))) {
        forms.set(JSON.stringify(formOf(action)), action);
      }
    }
    const tried = forms
      .values()
      .map((action) => assertHarmless(action, JSON.stringify(action).slice(0, 300)));
    const total = tried.reduce((sum, count) => sum + count);
    assert.ok(forms.size > 80 && total > 50_000, `${forms.size} forms, ${total} mutants`);
  });
});

describe("the demo", { skip: noCaptures }, () => {
  it("plays a capture", async () => {
    const captured = join(ROOT, "../shared/recorded/replay");
    const demo = new Run(["demo", "--port", "0", "--capture", captured]);
    const url = await demo.printed(/curl -N '(\S+)\/v1\/stream/);
    await using stream = await Stream.open(url, { videoId: "demo-stream" });
    await stream.untilMessages(70);
    assert.match(demo.out, /Videos +demo-stream; no other one has a chat here$/m);
    assert.doesNotMatch(demo.out, /demo-second|@demo/, "the capture has one chat, and no channel");
    demo.signal("SIGTERM");
    assert.equal(await demo.exited, 0);
  });
});
