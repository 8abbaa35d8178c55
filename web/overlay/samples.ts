/**
 * `demo=on`: repeats one sample of each kind, to place the source before the stream begins. Makes no request.
 */
import type { Details } from "../../src/protocol/kinds.ts";
import type { ShownMessage } from "../chat/shown-message.ts";

/** The first round shows every kind in less than four seconds; later ones leave time to look. */
const FIRST_EVERY_MS = 90;
const EVERY_MS = 1500;

type Sample = Partial<ShownMessage> & { type: string };

const member: Details["badges"] = [{ kind: "member", label: "Member (6 months)" }];
const moderator: Details["badges"] = [{ kind: "moderator", label: "Moderator" }];
const owner: Details["badges"] = [{ kind: "owner", label: "Owner" }];
const blue = { header: "#1565c0", body: "#1e88e5" };
const yellow = { header: "#ffb300", body: "#ffca28" };
const pollOf = (state: "open" | "updated" | "closed", ...percents: number[]): Details => ({
  poll: {
    question: "Which map next?",
    choices: ["Harbour", "Desert"].map((text, at) => {
      const percent = percents[at];
      return percent === undefined ? { text } : { text, percent, ratio: percent / 100 };
    }),
    votes: percents.length === 0 ? 0 : 1248,
    state,
  },
});

/** The samples of round `n`; related messages share an id. */
const samplesOf = (n: number): Sample[] => [
  { type: "chat", author: "@mia", message: "hello everyone 👋" },
  {
    type: "banner",
    id: `banner:demo-${n}`,
    author: "@host",
    message: "Tonight: the last three levels.",
    details: { badges: owner, banner: { kind: "pinned_message", header: "Pinned by @host" } },
  },
  {
    type: "chat",
    author: "@omar",
    message: "greetings from Lisbon, it is four in the morning and I should be asleep",
    details: { badges: member },
  },
  {
    type: "superchat",
    author: "@kaito",
    message: "This made my evening!",
    amount: "$5.00",
    details: { colors: blue, tier: 1, amount: { value: 5, currency: "USD" } },
  },
  {
    type: "chat",
    id: `chat:demo-${n}`,
    author: "@noisy",
    message: "buy my things",
    details: { authorId: "demo-noisy" },
  },
  {
    type: "supersticker",
    author: "@ines",
    message: "Fox claps with both paws",
    amount: "€10.00",
    details: {
      colors: yellow,
      tier: 4,
      amount: { value: 10, currency: "EUR" },
      sticker: { label: "Fox claps with both paws" },
    },
  },
  { type: "deleted", id: `deleted:chat:demo-${n}`, details: { target: { messageId: `chat:demo-${n}` } } },
  {
    type: "membership",
    author: "@zoe",
    message: "Welcome to Crew!",
    details: { badges: [{ kind: "member", label: "New member" }], level: "Crew" },
  },
  {
    type: "milestone",
    author: "@ravi",
    message: "best chat on the site",
    details: { badges: member, header: "Member for 6 months", level: "Crew" },
  },
  { type: "poll", id: `poll:demo-${n}:1`, message: "Which map next?", details: pollOf("open") },
  {
    type: "gift",
    author: "@sofia",
    message: "Sent 5 gift memberships",
    details: { badges: member, gift: { count: 5 } },
  },
  { type: "gift_received", author: "@emil", message: "received a gift membership by @sofia" },
  { type: "poll", id: `poll:demo-${n}:2`, message: "Which map next?", details: pollOf("updated", 61, 39) },
  {
    type: "jewels",
    author: "@bo",
    message: "sent Gold coin for 10 Jewels",
    details: { jewels: { gift: "Gold coin", count: 10 } },
  },
  {
    type: "donation",
    message: "@nuno donated $50.00 to Clean Harbours",
    amount: "$50.00",
    details: { amount: { value: 50, currency: "USD" } },
  },
  { type: "chat", id: `edited:demo-${n}`, author: "@luna", message: "helo" },
  {
    type: "replaced",
    id: `replaced:edited:demo-${n}:1`,
    author: "@luna",
    message: "hello",
    details: { target: { messageId: `edited:demo-${n}` } },
  },
  { type: "poll", id: `poll:demo-${n}:3`, message: "Which map next?", details: pollOf("closed", 64, 36) },
  { type: "poll_result", message: "Which map next?\nHarbour (64%)\nDesert (36%)" },
  { type: "raid", message: "@friends and their viewers have joined." },
  { type: "summary", message: "Viewers say hello, and argue about maps." },
  {
    type: "author_deleted",
    id: `author_deleted:demo-noisy:${n}`,
    details: { target: { authorId: "demo-noisy" } },
  },
  { type: "notice", message: "Be kind, and keep what is private private." },
  { type: "mode", message: "Slow mode is on" },
  { type: "product", message: "Enamel mug" },
  { type: "chat", author: "@host", message: "thank you all!", details: { badges: owner } },
  { type: "chat", author: "@tomek", message: "please keep it friendly", details: { badges: moderator } },
  { type: "banner_removed", id: `banner_removed:demo-${n}` },
];

export function playSamples(show: (message: ShownMessage) => void): void {
  let cursor = 0;
  const playRound = (round: number): void => {
    const samples = samplesOf(round).values();
    const next = (): void => {
      const { value, done } = samples.next();
      if (done) {
        playRound(round + 1);
        return;
      }
      cursor += 1;
      show(toMessage(value, cursor));
      setTimeout(next, round === 0 ? FIRST_EVERY_MS : EVERY_MS);
    };
    next();
  };
  playRound(0);
}

function toMessage(sample: Sample, cursor: number): ShownMessage {
  const { message = "", details = {} } = sample;
  const now = new Date();
  const timestamp = now.toLocaleTimeString("en", { hour: "numeric", minute: "2-digit" });
  const parts = message === "" ? [] : [{ kind: "text" as const, text: message }];
  const fields = { id: `demo:${cursor}`, timestamp, author: "", message, amount: "", color: "", parts };
  const author = sample.author ? { authorId: `demo${sample.author}` } : {};
  return { ...fields, ...sample, details: { ...author, publishedAt: now.toISOString(), ...details }, cursor };
}
