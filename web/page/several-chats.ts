/**
 * The page of several chats: side by side as labelled regions, or in a narrow window one at a time, with a
 * tab for each. Their number does not change while the document lives.
 */
import { find, make, setAttributes } from "../chat/dom.ts";
import type { MergedConnection } from "../chat/merged-connection.ts";
import { Column, type Shared } from "./column.ts";
import { offerDownloads } from "./download.ts";
import { learnRoom } from "./known-room.ts";
import { SERVICE, TOKEN } from "./own-service.ts";
import { newRoot, partOf } from "./root.ts";
import type { Settings } from "./settings.ts";
import { carryState, type PageState } from "./status.ts";
import { Tabs } from "./tabs.ts";
import { offerToken } from "./token-field.ts";
import { oneLine } from "./video-line.ts";

/** The state of the page is the first of these that a chat has. */
const STATES: readonly PageState[] = ["open", "reconnecting", "connecting", "waiting", "ended", "failed"];
/** As in the stylesheet. */
const WIDE = matchMedia("(min-width: 900px)");

interface ChatTab {
  root: HTMLElement;
  tab: HTMLButtonElement;
  column: Column;
  /** The elements that show the name of the chat. */
  names: readonly HTMLElement[];
  /** Empty while it is not known. */
  title: string;
}

export class SeveralChats {
  readonly columns: readonly Column[];
  readonly #byVideo: ReadonlyMap<string, ChatTab>;
  readonly #tabs: Tabs;
  /** Loaded here, as most pages show one chat. */
  readonly #connection: Promise<MergedConnection>;
  /** The video whose tab is chosen. */
  #chosen = "";
  readonly #named: (names: string) => void;

  /** `named` gets the names of all chats once a title is known, `choose` the video whose tab was chosen. */
  constructor(
    videoIds: readonly string[],
    shared: Shared,
    named: (names: string) => void,
    choose: (videoId: string) => void,
  ) {
    this.#named = named;
    this.#byVideo = new Map(videoIds.map((videoId) => [videoId, this.#newTab(videoId, shared)]));
    const places = [...this.#byVideo.values()];
    this.columns = places.map(({ column }) => column);
    const list = make("div", { role: "tablist", "aria-label": "Chats" }, ...places.map(({ tab }) => tab));
    this.#tabs = new Tabs(list, choose);
    const main = find("main", HTMLElement);
    main.classList.add("several");
    main.dataset.chats = String(videoIds.length);
    main.append(list, ...places.map(({ root }) => root));
    document.documentElement.classList.remove("one-chat"); // each column is one now
    for (const tab of document.querySelectorAll<HTMLButtonElement>("header [role=tab]"))
      tab.setAttribute("aria-controls", videoIds.map((id) => `panel-${tab.value}-${id}`).join(" "));
    offerDownloads(...videoIds.map((videoId) => ({ videoId, name: videoId })));
    const columns = [...this.#byVideo].map(([videoId, { column }]) => [videoId, column] as const);
    const service = { service: SERVICE, token: TOKEN, hasFeatured: TOKEN !== undefined };
    this.#connection = import("../chat/merged-connection.ts").then(
      ({ MergedConnection }) => new MergedConnection(new Map(columns), service),
    );
    WIDE.addEventListener("change", () => this.#giveRoles());
    addEventListener("offline", () =>
      this.#connect((connection) => connection.lose("This device is offline.")),
    );
    addEventListener("online", () => this.#connect((connection) => connection.changeOver()));
  }

  #connect(act: (connection: MergedConnection) => void): void {
    void this.#connection.then(act);
  }

  apply(settings: Settings, isNewDisplay: boolean): void {
    this.#tabs.show(settings.chat);
    this.#chosen = settings.chat;
    this.#revealTab();
    for (const [videoId, { root, column }] of this.#byVideo) {
      root.toggleAttribute("data-chosen", videoId === settings.chat);
      column.apply(settings, isNewDisplay);
    }
    this.#giveRoles();
  }

  /** Opens all chats from their beginning. */
  open({ backfill }: Settings): void {
    for (const [videoId, { column }] of this.#byVideo) {
      column.begin(videoId);
      column.status.show("connecting");
    }
    this.#connect((connection) => connection.open(backfill));
  }

  /** Continues the chats that have ended or failed where they stopped. */
  openAgain(): void {
    this.#connect((connection) => connection.openAgain());
  }

  #newTab(videoId: string, shared: Shared): ChatTab {
    const root = newRoot(`-${videoId}`);
    root.classList.add("one-chat");
    root.dataset.videoId = videoId;
    const name = partOf(root, "name", HTMLElement);
    name.hidden = false;
    const href = `?${new URLSearchParams({ videoId })}`;
    const names = [
      make("a", { href, title: "Show this chat alone", dir: "auto" }, videoId),
      make("bdi", {}, videoId),
    ] as const;
    name.append(names[0]);
    const condition = make("span");
    const tab = make(
      "button",
      { type: "button", role: "tab", value: videoId, id: `tab-${videoId}`, "aria-controls": root.id },
      names[1],
      condition,
    );
    let learning = new AbortController();
    const column = new Column({
      ...shared,
      root,
      opened: (shown) => {
        learning.abort();
        learning = new AbortController();
        void learnRoom(shown, learning.signal, (room) => {
          if (shown.chat === "live") column.known(room);
          chat.title = oneLine(room.title);
          this.#name();
        });
      },
      stateChanged: (state, code) => {
        carryState(root, state, code);
        carryState(tab, state);
        const words = state === "connecting" && code ? "waiting" : state;
        condition.textContent = state === "open" ? "" : ` · ${words}`;
        this.#revealTab();
        this.#showState();
      },
    });
    partOf(root, "retry", HTMLButtonElement).addEventListener("click", () =>
      this.#connect((connection) => connection.goOn(videoId)),
    );
    const chat: ChatTab = { root, tab, column, names, title: "" };
    return chat;
  }

  /** Names each chat by its title, with its id if another has the same, or else by its id. */
  #name(): void {
    const titles = [...this.#byVideo.values()].map(({ title }) => title);
    if (titles.join("") === "") return;
    const chats = [...this.#byVideo].map(([videoId, { title, names }]) => {
      const isOne = title !== "" && titles.filter((each) => each === title).length === 1;
      const name = isOne ? title : `${title} ${videoId}`.trim();
      for (const element of names) element.textContent = name;
      return { videoId, name };
    });
    offerDownloads(...chats);
    this.#named(chats.map(({ name }) => name).join(", "));
  }

  #revealTab(): void {
    this.#byVideo.get(this.#chosen)?.tab.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** The state of the page. */
  #showState(): void {
    const roots = [...this.#byVideo.values()].map(({ root }) => root);
    const shown = STATES.flatMap((state) => roots.filter(({ dataset }) => dataset.state === state));
    const { state = "idle", code } = shown[0]?.dataset ?? {};
    carryState(document.documentElement, state as PageState, code);
    offerToken(code);
  }

  #giveRoles(): void {
    for (const [videoId, { root }] of this.#byVideo) {
      const [role, name] = WIDE.matches ? ["region", "name"] : ["tabpanel", "tab"];
      const isHidden = !WIDE.matches && videoId !== this.#chosen;
      setAttributes(root, {
        role,
        "aria-labelledby": `${name}-${videoId}`,
        "aria-hidden": isHidden ? "true" : undefined, // the stylesheet leaves its box
      });
    }
  }
}
