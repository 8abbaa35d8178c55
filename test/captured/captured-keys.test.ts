/**
 * The simulator writes no key that captures of the real upstream do not have in the same place, except for
 * those listed here. The service reads no key that neither has. So neither can drift from the upstream, and
 * the two cannot share a misspelt key.
 */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { SPECIES } from "../../simulator/generator.ts";
import { startSimulator } from "../../simulator/index.ts";
import type { ChatKind } from "../../simulator/scenario.ts";
import { asArray, dig, parseJson } from "../../src/base/json.ts";
import { FACTS } from "../simulation/upstream-facts.ts";
import { capturedFiles, capturedJson, capturedText, noCaptures } from "../support/captures.ts";
import { readMessages, UTC } from "../support/read-messages.ts";
import { poll } from "../support/simulator-reader.ts";

const VIDEO = "simulated11";

/** What these keys hold has the same form wherever it is: its paths begin with the key. */
const ALIKE =
  /(?:Renderer|ViewModel|Action|Command|Entity|Endpoint|ContinuationData|Results)$|^(?:runs|thumbnails|sources|actions|mutations)$/;

/** The path of an action, of an item, or of a ticker's. */
const KIND = /^(?:actions|addChatItemAction\.item|addLiveChatTickerItemAction\.item)\.\w+$/;

/** For the upstream's own page: the service reads none of them. */
const OWN = /trackingparam|^responseContext$/i;

const PUBLIC_CODE = "public code reads it, no capture holds one";
const INVENTED = "a kind that does not exist yet";

/** What the simulator writes though no capture has it, and why. */
const WRITTEN_ALONE: readonly (readonly [path: RegExp, why: string])[] = [
  [/\.timestampText\.simpleText$/, "the simulator gives each item of a replay its time in the video"],
  [/^popout\.contents\.messageRenderer$/, "the words of a page without a chat"],
  [/^answer\.contents\.messageRenderer$/, "the words of an answer without a chat"],
  [/^answer\..*\.reloadContinuationData$/, "the end of a live chat"],
  [/^answer\..*\.header\.liveChatHeaderRenderer$/, "the menu of a first answer, in the form of a page's"],
  [/liveChatReplayRenderer/, "the renderer that pages of replays have by their name"],
  [/[uU]pdate(Command)?\.entityBatchUpdate\.mutations$|^answer\.frameworkUpdates/, PUBLIC_CODE],
  [/^mutations\.payload\.|^replyCountEntity\./, PUBLIC_CODE],
  [/pdgLike(Button|ViewModel)|pdgReplyButtonViewModel|\.leaderboardBadge\./, PUBLIC_CODE],
  [/liveChatSponsorshipsGiftRedemptionAnnouncementRenderer/, PUBLIC_CODE],
  [/liveChatBannerPollRenderer|liveChatCallForQuestionsRenderer|liveChatProductItemRenderer/, PUBLIC_CODE],
  [/companionWidgetRenderer|giftOverlayItemViewModel|^interactivity.*\.elementRenderer$/, PUBLIC_CODE],
  [/\.hoverMessage\.|\.messagePrefixIcon\.|^liveChatMembershipItemRenderer\.empty$/, PUBLIC_CODE],
  [/entityUpdateCommand|liveChatReportPresenceCommand|showLiveChatDialogAction/, PUBLIC_CODE],
  [/Future|futureThing/, INVENTED],
];

/** Adds the path of each value; all elements of a list count as one. */
function addPaths(paths: Set<string>, value: unknown, at: string): void {
  if (Array.isArray(value)) for (const element of value) addPaths(paths, element, at);
  else if (typeof value !== "object" || value === null) paths.add(at);
  else
    for (const [key, field] of Object.entries(value)) {
      if (OWN.test(key)) continue;
      const isAlike = ALIKE.test(key);
      if (isAlike) paths.add(`${at}.${key}`);
      addPaths(paths, field, isAlike ? key : `${at}.${key}`);
    }
}

/** Adds the paths of a page's data and of its player. */
function addPage(paths: Set<string>, html: string, on: string): void {
  const assigned = (name: string) => new RegExp(`${name}(?:"\\])? = (\\{.*?\\});(?:var |</script>)`, "s");
  for (const [name, at] of [
    ["ytInitialData", on],
    ["ytInitialPlayerResponse", "player"],
  ] as const)
    addPaths(paths, parseJson(assigned(name).exec(html)?.[1] ?? "null"), at);
}

function capturedPaths(): Set<string> {
  const paths = new Set<string>();
  addPaths(paths, capturedActions(), "actions");
  for (const name of ["live", "replay", "mobile"].flatMap(capturedFiles)) {
    const body = capturedJson(name);
    if (!Array.isArray(body)) addPaths(paths, dig(body, "response") ?? body, "answer");
  }
  for (const name of capturedFiles("pages")) {
    if (name.endsWith(".html")) addPage(paths, capturedText(name), "watch");
    if (name.endsWith(".json")) addPaths(paths, capturedJson(name), "popout");
  }
  for (const name of capturedFiles("channels"))
    addPaths(paths, dig(capturedJson(name), "playerResponse"), "player");
  for (const name of capturedFiles("errors")) addPaths(paths, capturedJson(name), "error");
  return paths;
}

/** The pages of a channel's stream whose chat is of each kind, some answers of the chat, and its end. */
async function simulated(): Promise<{ paths: Set<string>; actions: readonly unknown[] }> {
  const paths = new Set<string>();
  await using upstream = await startSimulator({ seed: 3 });
  const load = async (path: string) => (await fetch(upstream.urls.main + path)).text();
  const stream = upstream.channel("@simulated").broadcast(VIDEO, { startsAt: Date.now() });
  const { chat } = stream;
  chat.say(2000);
  for (const species of SPECIES) {
    chat.change({ kinds: [species] });
    chat.say(100);
  }
  chat.change({ page: chat.ledger.length, pageSize: chat.ledger.length });
  const KINDS: readonly ChatKind[] = ["upcoming", "live", "replay", "members-only", "off", "private", "none"];
  for (const kind of KINDS) {
    chat.change({ kind });
    addPage(paths, await load(`/live_chat?v=${VIDEO}`), "popout");
    const html = await load(`/watch?v=${VIDEO}`);
    addPage(paths, html, "watch");
    let next = /"reloadContinuationData":\{"continuation":"([^"]{100,})"/.exec(html)?.[1];
    const endpoint = kind === "replay" ? "get_live_chat_replay" : "get_live_chat";
    for (let calls = 0; next !== undefined && calls < 4; calls++) {
      if (calls === 2) chat.end("reload-only");
      const reply: Awaited<ReturnType<typeof poll>> = await poll(upstream, next, { endpoint });
      addPaths(paths, reply.body, "answer");
      next = reply.next;
    }
  }
  addPaths(paths, (await poll(upstream, "no token")).body, "error");
  return { paths, actions: chat.ledger.map(({ action }) => action) };
}

function actionsIn(body: unknown): readonly unknown[] {
  const chat = dig(dig(body, "response") ?? body, "continuationContents", "liveChatContinuation");
  if (dig(body, "headerSubtext"))
    return [{ addChatItemAction: { item: { liveChatMembershipItemRenderer: body } } }];
  return chat ? (asArray(dig(chat, "actions")) ?? []) : (asArray(body) ?? [body]);
}

function capturedActions(): readonly unknown[] {
  const names = ["actions", "live", "replay", "mobile"].flatMap(capturedFiles);
  return names.flatMap((name) => actionsIn(capturedJson(name)));
}

/** What the service reads of the actions: only names, because its readers look for a field in many places. */
function namesRead(actions: readonly unknown[]): Set<string> {
  const names = new Set<string>();
  const watched = (value: unknown): unknown =>
    typeof value !== "object" || value === null
      ? value
      : new Proxy(value, {
          get(target, name) {
            const field: unknown = Reflect.get(target, name);
            if (!Array.isArray(target) && typeof name === "string") names.add(name);
            return typeof field === "function" ? field : watched(field);
          },
        });
  readMessages(actions.map(watched), { receivedAt: 0, timeOfDay: UTC });
  return names;
}

describe("the keys of captures", { skip: noCaptures }, () => {
  let captured: Set<string>;
  let paths: Set<string>;
  let actions: readonly unknown[];
  before(async () => {
    captured = capturedPaths();
    ({ paths, actions } = await simulated());
  });

  const names = (of: Iterable<string>) => new Set([...of].flatMap((path) => path.split(".")));

  it("are those of the simulator's pages and answers, in the same places", () => {
    const alone = [...paths].filter((path) => !captured.has(path));
    // A text has either of two forms.
    const other = (path: string) =>
      path.endsWith(".runs") ? path.replace(/runs$/, "simpleText") : path.replace(/simpleText$/, "runs");
    const unknown = alone.filter((path) => !captured.has(other(path)));
    assert.deepEqual(
      unknown.filter((path) => !WRITTEN_ALONE.some(([form]) => form.test(path))),
      [],
    );
    assert.deepEqual(
      WRITTEN_ALONE.filter(([form]) => !unknown.some((path) => form.test(path))),
      [],
      "no longer written, or captured by now",
    );
  });

  it("include all that the service reads of an action and the simulator does not write", () => {
    const known = names([...captured, ...paths]);
    const read = namesRead([...actions, ...capturedActions()]);
    assert.deepEqual(
      [...read].filter((name) => !known.has(name) && !OWN.test(name)),
      ["toJSON"],
    );
  });

  it("name no action or item that the simulator does not say, except for those with a reason", () => {
    const kinds = new Set<string>();
    addPaths(kinds, capturedActions(), "actions");
    const unsaid = [...kinds].filter((path) => KIND.test(path) && !paths.has(path));
    const excused = FACTS.flatMap((fact) => ("kinds" in fact ? (fact.kinds ?? []) : []));
    assert.deepEqual(unsaid.sort(), excused.sort());
  });
});
