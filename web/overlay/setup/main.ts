/**
 * The overlay's set-up page: controls for all parameters, a preview, and the URL for OBS. The page's own URL
 * has the same parameters, so a link to it, or a reload, shows the same.
 */
import { find, make } from "../../chat/dom.ts";
import { beginAgainAtNewToken, takeToken } from "../../chat/page-token.ts";
import { Parameters } from "../../chat/parameters.ts";
import { fragmentOf } from "../../chat/token-fragment.ts";
import { readLabels } from "../source-marks.ts";
import { DesignFields } from "./design-fields.ts";
import {
  badgesField,
  choiceField,
  type Field,
  linksField,
  numberField,
  optionField,
  switchField,
  textField,
  themeField,
  typesField,
} from "./fields.ts";
import { Preview } from "./preview.ts";
import { SourceFields } from "./source-fields.ts";
import { downloadFor } from "./waiting-file.ts";

const COPIED = "Copied.";
const PEOPLE = "@name, UC…, /pattern/";
const NAMES_CHAT = /^(?:videoIds?|channel)$/;
const OVERLAY = new URL("../overlay", location.href).href;

/** In the fragment of the overlay's URL alone, never in that of this page. */
const token = textField("token", "Token", "if the service asks for one");
const source = new SourceFields(token.value, () => judge());

/** The parameters in groups. */
const GROUPS: Readonly<Record<string, readonly Field[]>> = {
  Chat: [
    source.video,
    source.videos,
    optionField("labels", "Labels of several videos", "id:Wide, id:Upright", {
      read: ({ search }, warn) => readLabels(new Parameters(search, warn)),
    }),
    source.channel,
    switchField("all", "All live streams of the channel, in one list"),
    choiceField("view", "Show", [
      "the chat",
      "alerts: Super Chats and members, one at a time",
      "the open poll",
      "a ticker of Super Chats and members",
      "a goal: members or money",
      "the message that a moderator features",
    ]),
    switchField("demo", "Samples instead of the chat, to place the source"),
  ],
  Look: [
    themeField(["Dark", "Light", "Bubbles", "Plate", "Terminal", "None (own CSS)"]),
    numberField("size", "Text size", "In pixels, 8 to 96."),
    choiceField("align", "Side", ["left", "right"]),
    choiceField("direction", "New messages", ["at the bottom", "on top"]),
    switchField("avatars", "Pictures of authors"),
    badgesField(switchField("badges", "Badges"), "Only messages of"),
    switchField("images", "All pictures"),
    switchField("timestamps", "Times"),
  ],
  Messages: [
    typesField("Types"),
    numberField("max", "At most", "Messages at once, 1 to 200."),
    numberField("backfill", "Begin with", "Recent messages, 0 to 500.", "automatic"),
    numberField("fade", "Fade after", "Seconds; 0 keeps messages."),
    numberField("hold", "Hold for", "Seconds for an alert or a closed poll."),
    choiceField("deleted", "Deleted messages", ["disappear", "become a notice", "are struck through"]),
    linksField("Only messages with a link"),
    switchField("commands", "Commands, such as !uptime"),
  ],
  Payments: [
    numberField("minTier", "Super Chats from", "Tier, 1 (blue) to 7 (red).", "all"),
    optionField("minAmount", "Paid from", "5EUR"),
  ],
  "Alerts and goal": [
    optionField("sound", "Sound", "off, on, or a URL"),
    numberField("volume", "Volume", "0 to 100."),
    choiceField("speech", "Read aloud", ["nothing", "what is paid", "all alerts"]),
    optionField("speechFrom", "Read aloud from", "5EUR"),
    optionField("picture", "Picture", "URL"),
    choiceField("goal", "Goal", ["members", "money"]),
    numberField("target", "Target", "Of the goal."),
    optionField("currency", "Currency", "EUR"),
    optionField("since", "Count since", "2026-01-31T18:00Z"),
    textField("title", "Title of the goal", "Road to 100 members"),
  ],
  Authors: [
    optionField("hide", "Hide", PEOPLE, {
      hint: "Names, channel ids, or patterns for names and words between slashes, such as /pizza/. Commas separate them.",
    }),
    optionField("mark", "Highlight", PEOPLE, { hint: "The same kinds of items." }),
  ],
};
const FIELDS = Object.values(GROUPS).flat();
const design = new DesignFields();

const parametersForm = find("#parameters", HTMLFormElement);
const viewForm = find("#view", HTMLFormElement);
const url = find("#url", HTMLInputElement);
const copied = find("#copied", HTMLElement);
/** Whether the URL, or the stylesheet (`isCss`), was copied; "" before it is. */
let said = "";
let isCss = false;
const preview = new Preview();

/** The controls of the preview: in this page's URL alone. */
const viewControls = [...viewForm.elements] as (HTMLInputElement | HTMLSelectElement)[];
const usualView = new Map(viewControls.map(({ name, value }) => [name, value]));
const viewValue = (name: string): string => viewControls.find((each) => each.name === name)?.value ?? "";

function draw(): void {
  token.element.append(
    make("p", { class: "hint" }, "The overlay’s URL contains it: show this URL to nobody."),
  );
  token.element.addEventListener("change", () => {
    source.ask();
    judge();
  });
  for (const [title, fields] of Object.entries(GROUPS)) {
    const elements = fields.flatMap((field) =>
      field === source.channel ? [field.element, token.element] : [field.element],
    );
    parametersForm.append(make("fieldset", { class: "group" }, make("legend", {}, title), ...elements));
  }
  design.css.id = "css";
  const copyCss = make("button", { type: "button", id: "copy-css" }, "Copy the CSS");
  copyCss.addEventListener("click", () => void copy(design.css));
  parametersForm.append(
    make(
      "fieldset",
      { class: "group" },
      make("legend", {}, "Design"),
      ...design.fields.map(({ element }) => element),
      make(
        "div",
        { class: "field wide" },
        make("label", { for: "css" }, "CSS"),
        design.css,
        make(
          "p",
          { class: "hint" },
          "The preview shows it. Paste it into Custom CSS of the source in OBS: it is not part of the URL. A stylesheet, font or picture from another host tells that host who shows the overlay.",
        ),
        copyCss,
      ),
    ),
  );
}

/** Shows what the page's URL says. */
function read(): void {
  for (const field of FIELDS) field.show(location.search);
  design.show(location.search);
  const query = new URLSearchParams(location.search);
  for (const control of viewControls) {
    const usual = usualView.get(control.name) ?? "";
    control.value = query.get(control.name) ?? usual;
    if (control.value === "" || !control.checkValidity()) control.value = usual;
  }
  show();
  source.ask();
}

/** Writes what the controls show into the page's URL. */
function write(): void {
  const own = viewControls
    .filter(({ name, value, validity }) => validity.valid && value !== "" && value !== usualView.get(name))
    .map(({ name, value }): [string, string] => [name, value]);
  history.replaceState(null, "", `${location.pathname}${toQuery([...chosen(), ...design.chosen(), ...own])}`);
  said = "";
  show();
}

function show(): void {
  const fragment = fragmentOf(token.value());
  url.value = OVERLAY + toQuery(chosen()) + fragment;
  judge();
  const isChat = viewValue("preview") === "chat" && namesChat();
  const shown = chosen().filter(([name]) => name !== "demo");
  preview.dress(design.css.value);
  find("#back", HTMLAnchorElement).search = toQuery(chosen().filter(([name]) => NAMES_CHAT.test(name)));
  preview.load(OVERLAY + (isChat ? toQuery(shown) + fragment : toQuery([...shown, ["demo", "on"]])));
  const [width, height] = ["width", "height"].map((name) => {
    const control = viewControls.find((each) => each.name === name);
    return Number(control?.validity.valid && control.value ? control.value : usualView.get(name));
  });
  preview.resize(width ?? 0, height ?? 0);
  find("#dimensions", HTMLOutputElement).value = `${width} × ${height}`;
  find("#backdrop", HTMLElement).dataset.backdrop = viewValue("backdrop");
}

function namesChat(): boolean {
  return chosen().some(([name]) => NAMES_CHAT.test(name));
}

/** Explains the fault of each field below it, and those of a copied text below the button. */
function judge(): void {
  const [ofUrl = [], ofCss = []] = [FIELDS, design.fields].map((fields) =>
    fields.filter((field) => field.judge?.()).map(({ label }) => `“${label}”`),
  );
  const faulty = isCss ? ofCss : ofUrl;
  const isSample = chosen().some(([name]) => name === "demo");
  const fault =
    !isCss && !namesChat() && !isSample
      ? "But it names no chat: on stream it shows an error. Enter a video or a channel."
      : faulty.length > 0 && `But read what is said below ${faulty.join(", ")}.`;
  const words = said && fault ? `${said} ${fault}` : said;
  if (copied.textContent !== words) copied.textContent = words;
  copied.toggleAttribute("data-fault", words !== said);
  find("#copy", HTMLButtonElement).toggleAttribute("data-copied", !isCss && words === COPIED);
}

/** The parameters that are not the default. */
function chosen(): [string, string][] {
  return FIELDS.map(({ name, value }): [string, string] => [name, value()]).filter(
    ([, value]) => value !== "",
  );
}

/** The query. Some characters that a query may contain are not escaped: people read it in OBS. */
function toQuery(parameters: [string, string][]): string {
  const query = new URLSearchParams(parameters).toString();
  return query && `?${query.replaceAll(/%(?:2C|2F|3A|40)/g, decodeURIComponent)}`;
}

/** Without a secure context there is no clipboard, but the field's text can be copied. */
async function copy(from: HTMLInputElement | HTMLTextAreaElement): Promise<void> {
  from.select();
  const isCopied = await navigator.clipboard?.writeText(from.value).then(
    () => true,
    () => false,
  );
  said = isCopied || document.execCommand("copy") ? COPIED : "Press Ctrl+C or ⌘C to copy.";
  isCss = from === design.css;
  judge();
}

draw();
token.show(`?${new URLSearchParams({ token: takeToken() ?? "" })}`);
beginAgainAtNewToken();
read();
for (const form of [parametersForm, viewForm]) {
  form.addEventListener("input", write);
  form.addEventListener("submit", (event) => event.preventDefault());
}
find("#url-form", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  void copy(url);
});
find("#download", HTMLButtonElement).addEventListener("click", () => downloadFor(url.value));
addEventListener("popstate", read);
