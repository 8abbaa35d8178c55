/**
 * The page for operators at `/probe`: asks the service which upstream clients work for the video that its URL
 * names, and shows each attempt's outcome.
 */
import { type ChatError, type ProbeRow, probe } from "../../client/index.ts";
import { find, make, setAttributes } from "../chat/dom.ts";
import { SERVICE, TOKEN } from "./own-service.ts";
import { sentence } from "./sentence.ts";
import { offerToken } from "./token-field.ts";

/** The attempts of a probe, in order. */
const LABELS = [
  "MWEB",
  "WEB",
  "ANDROID",
  "IOS",
  "TVHTML5",
  "TVHTML5_SIMPLY_EMBEDDED_PLAYER",
  "WEB_EMBEDDED_PLAYER",
  "ANDROID_EMBEDDED_PLAYER",
  "WEB_REMIX (music)",
  "MWEB (music)",
  "MWEB (m.youtube)",
  "ANDROID_VR",
] as const;
const ENDPOINTS = ["get_live_chat", "get_live_chat_replay"] as const;

const videoId = new URLSearchParams(location.search).get("videoId")?.trim() ?? "";
const start = find("#probe button", HTMLButtonElement);
const body = find("#probe tbody", HTMLElement);
const words = find("#probe-words", HTMLElement);
const progress = find("#probe [role=progressbar]", HTMLElement);
const rows = new Map<string, HTMLTableRowElement>();

function rowOf(label: string, endpoint: string): HTMLTableRowElement {
  const key = `${label} ${endpoint}`;
  const row = rows.get(key) ?? make("tr", { "data-label": label, "data-endpoint": endpoint });
  if (!rows.has(key)) body.append(row);
  rows.set(key, row);
  return row;
}

function showAll(result: string): void {
  for (const label of LABELS) {
    for (const endpoint of ENDPOINTS) showRow(rowOf(label, endpoint), label, endpoint, result);
  }
}

async function run(): Promise<void> {
  if (videoId === "") {
    words.textContent = "Open a video first: a probe asks for one.";
    return;
  }
  const hadFocus = document.activeElement === start;
  start.disabled = true;
  progress.hidden = false;
  words.textContent = "Trying 12 clients with both endpoints, one after the other. This takes a while.";
  showAll("pending");
  try {
    const { videoId: probed, rows: results } = await probe(SERVICE, { videoId, token: TOKEN });
    for (const result of results) showResult(rowOf(result.label, result.endpoint), result);
    const working = results.filter(({ ok }) => ok).length;
    words.textContent = `${working} of ${results.length} attempts brought a chat of ${probed}.`;
  } catch (error) {
    showAll("not tried");
    words.textContent = wordsOf(error as ChatError);
    offerToken((error as ChatError).code);
  }
  start.disabled = false;
  progress.hidden = true;
  if (hadFocus && document.activeElement === document.body) start.focus();
}

function showRow(row: HTMLTableRowElement, label: string, endpoint: string, ...cells: string[]): void {
  row.removeAttribute("data-ok");
  const [result = "", actions = "", error = ""] = cells;
  row.replaceChildren(
    make("th", { scope: "row" }, ...wrapping(label)),
    make("td", {}, make("code", {}, ...wrapping(endpoint))),
    make("td", { class: "result" }, result),
    make("td", { class: "number" }, actions),
    make("td", {}, error),
  );
}

/** The name may wrap after each `_`, so that the result fits next to it on a phone. */
function wrapping(name: string): (Node | string)[] {
  return name.split(/(?<=_)/).flatMap((part, at) => (at === 0 ? [part] : [make("wbr"), part]));
}

function showResult(row: HTMLTableRowElement, { label, endpoint, ok, actions, error }: ProbeRow): void {
  showRow(row, label, endpoint, ok ? "works" : "no", String(actions), error ?? "");
  setAttributes(row, { "data-ok": String(ok) });
}

/** The service's own message, and whether another try may help: only a refusal of the request stays. */
function wordsOf({ message, status = 500 }: ChatError): string {
  const isFinal = status < 500 && status !== 408 && status !== 429;
  return isFinal ? sentence(message) : `${sentence(message)} Try again later.`;
}

find("#open input[name=videoId]", HTMLInputElement).value = videoId;
find("#chat-link", HTMLAnchorElement).href = `./?${new URLSearchParams({ videoId })}`;
start.addEventListener("click", () => void run());
showAll("not tried");
