/**
 * The causes of CAPACITY, the refusal of a service that takes no more for now: all there are, in one table.
 */
import { RelayError } from "./errors.ts";

export interface CapacityRow {
  /** What the caller reads; a refusal that knows more says it itself. */
  message: string;
  /** What the operator can set: only the log names it. */
  setting?: string;
  /** The `Retry-After`, in milliseconds; absent if waiting does not help. */
  retryAfterMs?: number;
}

/** Why the service takes no more for now: each CAPACITY has one of these causes. Metrics and logs name it. */
export const CAPACITY_CAUSES = {
  viewers: {
    message: "Too many viewers are connected.",
    setting: "RELAY_MAX_VIEWERS",
    retryAfterMs: 30_000,
  },
  address: { message: "This address has too many viewers.", retryAfterMs: 30_000 },
  subject: { message: "The token's subject has too many connections.", retryAfterMs: 30_000 },
  keys: { message: "The keys that sign tokens are not known yet; try again shortly.", retryAfterMs: 5000 },
  store: {
    message: "The store is full: only recordings open chats until older rooms are deleted.",
    setting: "RELAY_MAX_STORE_BYTES",
    retryAfterMs: 30_000,
  },
  rooms: { message: "Too many rooms are open.", setting: "RELAY_MAX_ROOMS", retryAfterMs: 30_000 },
  calls: {
    message: "One more chat needs more calls than this address may make.",
    setting: "RELAY_MAX_LATENESS_MS, RELAY_GATE_SPACING_MS",
    retryAfterMs: 30_000,
  },
  openings: { message: "Too many videos wait to be opened; try again shortly.", retryAfterMs: 5000 },
  callers: { message: "Too many calls wait for YouTube; try again shortly.", retryAfterMs: 5000 },
  channels: { message: "Too many channels are watched.", retryAfterMs: 30_000 },
  recordings: { message: "There are too many recordings: delete one that has ended." },
  bodies: { message: "Too many large requests arrive; try again shortly.", retryAfterMs: 5000 },
  answers: { message: "Too many answers wait for their clients to read them.", retryAfterMs: 30_000 },
  pages: {
    message: "Too many pages of stored messages are asked for; try again shortly.",
    retryAfterMs: 5000,
  },
  elsewhere: { message: "Another instance is still opening this chat.", retryAfterMs: 1000 },
  live: {
    message: "The video's live chat is still open here; its replay is served once that has ended.",
    retryAfterMs: 1000,
  },
  unreachable: {
    message: "This instance cannot reach YouTube; another one will open the chat.",
    retryAfterMs: 1000,
  },
  origin: { message: "The origin of this edge does not answer; try again shortly.", retryAfterMs: 5000 },
  stopping: { message: "The service is stopping; connect again.", retryAfterMs: 1000 },
} as const satisfies Record<string, CapacityRow>;

export type CapacityCause = keyof typeof CAPACITY_CAUSES;

/** The refusal of a service that takes no more. */
export class CapacityError extends RelayError {
  readonly capacityCause: CapacityCause;

  constructor(capacityCause: CapacityCause, message?: string, cause?: unknown) {
    const { retryAfterMs, ...row }: CapacityRow = CAPACITY_CAUSES[capacityCause];
    super("CAPACITY", message ?? row.message, { retryAfterMs, cause });
    this.capacityCause = capacityCause;
  }
}

/** That refusal. `message`: if more is known than the table says. */
export function atCapacity(why: CapacityCause, message?: string, cause?: unknown): RelayError {
  return new CapacityError(why, message, cause);
}
