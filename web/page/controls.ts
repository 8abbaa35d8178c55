/** The controls show the settings, and write the user's changes into the URL. */
import { isChannel, parseVideoOrChannel } from "../../src/protocol/channel.ts";
import { find, make, setAttributes } from "../chat/dom.ts";
import { amountIn } from "../chat/filters.ts";
import { Parameters } from "../chat/parameters.ts";
import { TypeBoxes } from "../chat/type-boxes.ts";
import { readSettings, type Settings, writeUrl } from "./settings.ts";
import { focusFirstSeen } from "./tab-stops.ts";
import { Tabs } from "./tabs.ts";

/** A handle, also one that no channel can have. */
const HANDLE = /(?:^|\/)[@＠]/;

/**
 * Calls `changed` with the current settings, and after each change, the browser's back and forward included.
 * Returns what changes the URL's parameters as the controls do.
 */
export function startControls(
  changed: (settings: Settings) => void,
): (changes: Record<string, string>, how?: "push" | "replace") => void {
  const form = find("#open", HTMLFormElement);
  const video = find("#open input[name=videoId]", HTMLInputElement);
  const words = find("input[name=q]", HTMLInputElement);
  const images = find("input[name=images]", HTMLInputElement);
  const aloud = find("input[name=aloud]", HTMLInputElement);
  const only = find("#only", HTMLFieldSetElement);
  const minAmount = find("input[name=minAmount]", HTMLInputElement);
  const paidFault = find("#paid-fault", HTMLElement);
  const onlyBoxes = [...only.querySelectorAll<HTMLInputElement>("input[type=checkbox]")];
  const selects = [...document.querySelectorAll<HTMLSelectElement>("header select")];
  const selectsOfSettings = selects.filter(({ name }) => name !== "chat"); // the page shows which chat it is
  const boxes = new TypeBoxes(find("#types", HTMLElement));
  const tabs = new Tabs(find("header [role=tablist]", HTMLElement), (tab) => write({ tab }));

  /** The amount for the URL; says beside the field why it cannot be used. */
  const judgedAmount = (): string => {
    const value = minAmount.value.trim();
    let fault = "";
    const warn = (words: string): void => {
      fault = words;
    };
    amountIn(new Parameters(`${new URLSearchParams({ minAmount: value })}`, warn), "minAmount");
    if (paidFault.textContent !== fault) paidFault.textContent = fault;
    setAttributes(minAmount, { "aria-invalid": fault && "true" });
    return fault === "" ? value : "";
  };
  const show = (): void => {
    const settings = readSettings(location.search);
    if (words.value !== settings.q) words.value = settings.q; // an input method may be writing in it
    video.value = settings.names.join(", ") || settings.channel;
    images.checked = settings.images;
    aloud.checked = settings.aloud;
    const { badges = [], minTier = "", minAmount: paid, only: kind = "" } = settings.filters;
    for (const box of onlyBoxes) box.checked = [...badges, kind].includes(box.value);
    const isKept = document.activeElement === minAmount || (!paid && paidFault.textContent !== "");
    if (!isKept) minAmount.value = paid ? `${paid.value}${paid.currency}` : "";
    judgedAmount();
    const { theme, timestamps, deleted, appearance, size = "", follow } = settings;
    const numbers = { size: String(size), minTier: String(minTier) };
    const shown: Record<string, string> = { theme, timestamps, deleted, ...appearance, follow, ...numbers };
    for (const select of selectsOfSettings) choose(select, shown[select.name] ?? "");
    boxes.show(settings.types);
    tabs.show(settings.tab);
    for (const panel of document.querySelectorAll<HTMLElement>("[data-part^=panel-]")) {
      const isChosen = panel.toggleAttribute("data-chosen", panel.dataset.part === `panel-${settings.tab}`);
      setAttributes(panel, { "aria-hidden": isChosen ? undefined : "true" }); // the stylesheet leaves its box
    }
    const { dataset, style } = document.documentElement;
    Object.assign(dataset, { theme, ...appearance });
    style.fontSize = size === "" ? "" : `${size}px`;
    changed(settings);
  };
  const write = (changes: Record<string, string>, how: "push" | "replace" = "push"): void => {
    writeUrl(changes, how);
    show();
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    write({ videoId: "", videoIds: "", channel: "", ...sourceIn(video.value.trim()), chat: "", tab: "" });
  });
  find("#types", HTMLElement).addEventListener("change", () => write({ types: boxes.list() }));
  images.addEventListener("change", () => write({ images: images.checked ? "on" : "off" }));
  aloud.addEventListener("change", () => write({ aloud: aloud.checked ? "on" : "" }));
  only.addEventListener("change", ({ target }) => {
    const chosen = (name: string) =>
      onlyBoxes.flatMap((box) => (box.name === name && box.checked ? [box.value] : [])).join();
    if (!(target instanceof HTMLInputElement)) return; // a select writes itself
    write({ badges: chosen("badges"), only: chosen("only"), minAmount: judgedAmount() });
  });
  for (const select of selects)
    select.addEventListener("change", () => write({ [select.name]: select.value }));
  closeMenus();
  find("#skip", HTMLAnchorElement).addEventListener("click", (event) => {
    event.preventDefault();
    focusFirstSeen(...document.querySelectorAll<HTMLElement>("[data-part=chat], [data-part=panel-stats]"));
  });
  let typed = false;
  words.addEventListener("input", () => {
    write({ q: words.value }, typed ? "replace" : "push");
    typed = true;
  });
  words.addEventListener("change", () => {
    typed = false;
  });
  const menu = find("#filters-toggle", HTMLButtonElement);
  const openFilters = (force?: boolean): void => {
    const isOpen = find("header", HTMLElement).toggleAttribute("data-open", force);
    menu.setAttribute("aria-expanded", String(isOpen));
  };
  menu.addEventListener("click", () => openFilters());
  // In a small window, they would leave the results too little room.
  find("#find", HTMLFormElement).addEventListener("submit", () => openFilters(false));
  addEventListener("popstate", () => {
    typed = false; // the next key adds an entry
    show();
  });
  show();
  return write;
}

/** Shows the value, also a size that a user has written into the URL. */
function choose(select: HTMLSelectElement, value: string): void {
  select.value = value;
  if (select.value === value) return;
  select.append(make("option", { value }, `${value} px`));
  select.value = value;
}

/** The parameters that name this: a channel, also by its handle without `@`, a video, or several videos. */
function sourceIn(named: string): Record<string, string> {
  const [known, handle] = [nameIn(named), `@${named}`];
  if (known === undefined && isChannel(nameIn(handle) ?? "")) return { channel: handle };
  // The service names the mistake in a handle.
  if (isChannel(known ?? "") || (known === undefined && HANDLE.test(named))) return { channel: named };
  const videos = named.split(/[\s,]+/).filter((each) => each !== "");
  return videos.length > 1 ? { videoIds: videos.join() } : { videoId: named };
}

/** The id of a video or the name of a channel; undefined if it is neither. */
function nameIn(named: string): string | undefined {
  try {
    return parseVideoOrChannel(named);
  } catch {
    return undefined;
  }
}

/** Only one menu is open at a time; Escape and a click outside close it. */
function closeMenus(): void {
  const menus = [...document.querySelectorAll<HTMLDetailsElement>("details.menu")];
  const closeAllBut = (kept: EventTarget | null): void => {
    for (const menu of menus) if (!(kept instanceof Node && menu.contains(kept))) menu.open = false;
  };
  addEventListener("click", ({ target }) => closeAllBut(target));
  for (const menu of menus)
    menu.addEventListener("keydown", ({ key }) => {
      if (key !== "Escape") return;
      menu.open = false;
      menu.querySelector("summary")?.focus();
    });
}
