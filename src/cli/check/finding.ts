/** One line of a check: what it is of, whether that is in order, and what to do if not. */
import { cleanText } from "../../base/sanitised-text.ts";

export interface Finding {
  /** `warn`: the service works, but perhaps not as it should; `fail`: it does not. */
  state: "ok" | "warn" | "fail";
  of:
    | ("settings" | "store" | "port" | "files" | "report")
    | ("egress" | "page" | "call" | "chat" | "pair" | "view" | "pace" | "reads");
  /** In the words of this program alone. */
  text: string;
  /** The words of the upstream or of this machine, which a report leaves out. */
  quoted?: string | undefined;
  /** What to do; a sentence without a full stop. */
  advice?: string | undefined;
}

/** Takes each finding as soon as it is known. */
export type Tell = (finding: Finding) => void;

/** The finding as a line with its line break; nothing that an author wrote can control a terminal. */
export function lineOf({ state, of, text, quoted, advice }: Finding): string {
  const words = `${text}${quoted ? `: ${quoted}` : ""}${advice ? `. ${advice}` : ""}`;
  return `${state.padEnd(4)}  ${of.padEnd(8)}  ${cleanText(words)}\n`;
}

const UNITS = ["bytes", "kB", "MB", "GB", "TB"];

/** `412 kB` for 412,345. */
export function sizeOf(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const number = bytes / 1000 ** power;
  return `${power === 0 || number >= 10 ? Math.round(number) : number.toFixed(1)} ${UNITS[power]}`;
}
