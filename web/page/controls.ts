/** The controls show the settings, and write the user's changes into the URL. */
import { find, make } from "../chat/element.ts";
import { typesOf } from "../chat/parameters.ts";
import { FILTERS, listTypes, readSettings, type Settings, USUAL, writeUrl } from "./settings.ts";

const LABELS: Readonly<Record<(typeof FILTERS)[number], string>> = {
  chat: "Chat",
  paid: "Paid",
  members: "Members",
  polls: "Polls",
  pinned: "Pinned",
  notices: "Notices",
  moderation: "Moderation",
};

/**
 * Calls `changed` with the current settings, and after each change, the browser's back and forward included.
 */
export function startControls(changed: (settings: Settings) => void): void {
  const form = find("#open", HTMLFormElement);
  const video = find("#open input[name=videoId]", HTMLInputElement);
  const words = find("input[name=q]", HTMLInputElement);
  const images = find("input[name=images]", HTMLInputElement);
  const theme = find("select[name=theme]", HTMLSelectElement);
  const boxes = drawFilters();
  const tabs = [...document.querySelectorAll<HTMLButtonElement>("[role=tab]")];

  const show = (): void => {
    const settings = readSettings(location.search);
    if (document.activeElement !== words) words.value = settings.q;
    video.value = settings.videoId;
    images.checked = settings.images;
    theme.value = settings.theme;
    // Without any checked box, everything is shown.
    if (settings.types || boxes.some(({ checked }) => checked)) {
      for (const box of boxes) showFilter(box, settings.types);
    }
    for (const tab of tabs) showTab(tab, tab.value === settings.tab);
    document.documentElement.dataset.theme = settings.theme;
    changed(settings);
  };
  const write = (changes: Record<string, string>, how: "push" | "replace" = "push"): void => {
    writeUrl(changes, how);
    show();
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    write({ videoId: video.value.trim(), tab: "" });
  });
  for (const box of boxes) box.addEventListener("change", () => write({ types: listTypes(chosenBy(boxes)) }));
  images.addEventListener("change", () => write({ images: images.checked ? "on" : "off" }));
  theme.addEventListener("change", () => write({ theme: theme.value }));
  let typed = false;
  words.addEventListener("input", () => {
    write({ q: words.value }, typed ? "replace" : "push");
    typed = true;
  });
  words.addEventListener("change", () => {
    typed = false;
  });
  for (const tab of tabs) tab.addEventListener("click", () => write({ tab: tab.value }));
  find("[role=tablist]", HTMLElement).addEventListener("keydown", (event) => moveTab(event, tabs));
  const menu = find("#filters-toggle", HTMLButtonElement);
  menu.addEventListener("click", () => {
    const isOpen = find("#filters", HTMLElement).toggleAttribute("data-open");
    menu.setAttribute("aria-expanded", String(isOpen));
  });
  addEventListener("popstate", show);
  show();
}

function drawFilters(): HTMLInputElement[] {
  return FILTERS.map((value) => {
    const box = make("input", { type: "checkbox", name: "types", value, checked: "checked" });
    find("#types", HTMLElement).append(
      make("label", { class: "chip" }, box, make("span", {}, LABELS[value])),
    );
    return box;
  });
}

function showFilter(box: HTMLInputElement, types: Settings["types"]): void {
  const own = typesOf(box.value);
  const chosen = types ? own.filter((type) => types.has(type)) : USUAL.includes(box.value) ? own : [];
  box.checked = chosen.length === own.length;
  box.indeterminate = chosen.length > 0 && !box.checked;
}

function chosenBy(boxes: readonly HTMLInputElement[]): Set<string> {
  const before = readSettings(location.search).types;
  const kept = (box: HTMLInputElement): readonly string[] =>
    box.indeterminate ? typesOf(box.value).filter((type) => before?.has(type)) : [];
  return new Set(boxes.flatMap((box) => (box.checked ? typesOf(box.value) : kept(box))));
}

function showTab(tab: HTMLButtonElement, isChosen: boolean): void {
  tab.setAttribute("aria-selected", String(isChosen));
  tab.tabIndex = isChosen ? 0 : -1;
  find(`#panel-${tab.value}`, HTMLElement).toggleAttribute("data-chosen", isChosen);
}

function moveTab(event: KeyboardEvent, tabs: readonly HTMLButtonElement[]): void {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const at = tabs.indexOf(event.target as HTMLButtonElement);
  if (step === undefined || at < 0) return;
  const next = tabs.at((at + step) % tabs.length);
  next?.focus();
  next?.click();
}
