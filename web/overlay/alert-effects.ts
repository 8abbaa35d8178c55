/** What an alert has besides its card: a sound, a voice that reads it, and a picture. */
import { isPaid, reaches } from "../chat/amounts.ts";
import { make } from "../chat/dom.ts";
import type { ShownMessage } from "../chat/shown-message.ts";
import type { EffectOptions } from "./options.ts";

export interface AlertEffects {
  shown(message: ShownMessage, element: HTMLElement): void;
  /** The message was deleted. */
  deleted(message: ShownMessage): void;
  /** Whether the message is still being read. */
  isReading(message: ShownMessage): boolean;
}

/** A voice that has not ended by then never will. */
const LONGEST_MS = 60_000;
const MAX_CHARACTERS = 300;
/** Samples per second of our own sounds. */
const RATE = 11_025;
const NOTE_MS = 160;
/** The notes of our own sounds in Hz: for messages without a tier, then for tiers 1 to 7. */
const NOTES: readonly (readonly number[])[] = [
  [523, 784],
  [659],
  [659, 784],
  [659, 784, 988],
  [523, 659, 784],
  [523, 659, 784, 1047],
  [523, 659, 784, 1047, 1319],
  [523, 659, 784, 1047, 1319, 1568],
];

export function startEffects(options: EffectOptions): AlertEffects {
  const { sound, volume, speech, speechFrom, picture } = options;
  if (speech !== "off") globalThis.speechSynthesis?.getVoices(); // some browsers only load them now
  let spoken: { message: ShownMessage; until: number } | undefined;
  let isSilent = false;

  const read = (message: ShownMessage): void => {
    const isMeant = speechFrom ? reaches(message, speechFrom) : true;
    if (speech === "off" || (speech === "paid" && !isPaid(message)) || !isMeant) return;
    if (!globalThis.speechSynthesis?.getVoices().length) {
      if (!isSilent) console.warn("speech: this browser has no voice, so nothing is read aloud.");
      isSilent = true;
      return;
    }
    const utterance = new SpeechSynthesisUtterance(wordsOf(message));
    utterance.volume = volume;
    const own = { message, until: performance.now() + LONGEST_MS };
    spoken = own;
    utterance.onend = utterance.onerror = () => {
      if (spoken === own) spoken = undefined;
    };
    speechSynthesis.speak(utterance);
  };

  return {
    shown: (message, element) => {
      if (picture) {
        element.setAttribute("data-picture", "");
        const image = make("img", { class: "alert-picture", src: picture, draggable: "false" });
        image.alt = ""; // `make` sets no empty attribute
        element.append(image);
      }
      if (sound !== "off") {
        const audio = new Audio(sound === "on" ? ownSound(message.details.tier ?? 0) : sound);
        audio.volume = volume;
        audio.play().catch((error) => console.warn(`sound=${sound} cannot be played:`, error));
      }
      read(message);
    },
    deleted: (message) => {
      if (spoken?.message.id !== message.id) return;
      spoken = undefined;
      speechSynthesis.cancel();
    },
    isReading: (message) => spoken?.message.id === message.id && performance.now() < spoken.until,
  };
}

/** Links are not read letter by letter. */
function wordsOf({ author, amount, message, details }: ShownMessage): string {
  const words = (message || details.sticker?.label || "").replaceAll(/https?:\/\/\S+/g, "link");
  const who = [author.replace(/^@/, ""), amount].filter(Boolean).join(", ");
  return [who, words.slice(0, MAX_CHARACTERS)].filter(Boolean).join(": ");
}

/** A WAV file of the tier's notes: each fades out, and the last one slowly. */
function ownSound(tier: number): string {
  const notes = NOTES[tier] ?? NOTES[0] ?? [];
  const noteLength = (RATE * NOTE_MS) / 1000;
  const length = Math.floor(noteLength * (notes.length + 2));
  const bytes = new Uint8Array(44 + length);
  const view = new DataView(bytes.buffer);
  for (const [at, text] of [
    [0, "RIFF"],
    [8, "WAVEfmt "],
    [36, "data"],
  ] as const)
    bytes.set(new TextEncoder().encode(text), at);
  for (const [at, value] of [
    [4, 36 + length],
    [16, 16],
    [24, RATE],
    [28, RATE],
    [40, length],
  ] as const)
    view.setUint32(at, value, true);
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 1],
    [34, 8],
  ] as const)
    view.setUint16(at, value, true);
  for (let at = 0; at < length; at++) {
    const note = Math.min(notes.length - 1, Math.floor(at / noteLength));
    const since = (at - note * noteLength) / RATE;
    const tone = Math.sin(2 * Math.PI * (notes[note] ?? 0) * since) * Math.exp(-since * 6);
    bytes[44 + at] = 128 + Math.round(90 * tone);
  }
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return `data:audio/wav;base64,${btoa(text)}`;
}
