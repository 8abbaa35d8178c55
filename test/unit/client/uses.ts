/** Uses of the SDK that must compile, and uses that must not. The compiler is the test. */
import {
  type BareMessageOf,
  type ChannelChat,
  type ChannelOptions,
  type ChannelState,
  type Chat,
  ChatError,
  type ChatOptions,
  chat,
  type DeadChat,
  type Details,
  type EightFields,
  type End,
  type ErrorCode,
  type Gap,
  GROUPS,
  type HistoryOptions,
  history,
  type Init,
  type MergedChats,
  type MergedOptions,
  type Message,
  type MessageOf,
  type MessageType,
  merged,
  type OfVideo,
  type Part,
  type PollOptions,
  type ProbeResult,
  type ProbeRow,
  poll,
  probe,
  type State,
} from "../../../client/index.ts";

const URL = "https://relay.example";
const videoId = "dQw4w9WgXcQ";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>): void => {};

export async function readMessages(signal: AbortSignal, saved: number | undefined): Promise<void> {
  const room = chat(URL, { videoId, details: true, signal, cursor: saved });
  for await (const m of room) {
    same<typeof m.cursor, number>(true);
    same<typeof m.type, MessageType>(true);
    if (m.type === "superchat") console.log(m.amount, m.details.amount?.value?.toFixed(2));
    if (m.type === "poll") console.log(m.details.poll.question, m.details.poll.choices[0]?.percent);
    if (m.type === "deleted") console.log(m.details.target.messageId);
    // @ts-expect-error: a chat message has no poll
    if (m.type === "chat") console.log(m.details.poll);
    // @ts-expect-error: no such type
    if (m.type === "superduperchat") console.log(m);
    for (const part of m.parts) same<typeof part, Part>(true);
    console.log(name(m));
  }
  same<typeof room.end, End | undefined>(true);
  same<typeof room.cursor, number | undefined>(true);
  same<typeof room.state, State>(true);

  for await (const m of chat(URL, { videoId })) {
    const message: Message = m;
    // @ts-expect-error: details were not asked for
    console.log(m.details, message);
    // @ts-expect-error: neither does it have them here
    if (m.type === "poll") console.log(m.details.poll);
  }
}

export async function readSomeTypes(): Promise<void> {
  for await (const m of chat(URL, { videoId, types: ["superchat", "polls"], details: true })) {
    same<typeof m.type, "superchat" | "poll" | "poll_result" | "gap">(true);
    if (m.type === "gap") console.log(m.details.gap.reason);
    if (m.type === "poll") console.log(m.details.poll);
  }
  for await (const m of chat(URL, { videoId, types: ["paid"] }))
    same<typeof m.type, "superchat" | "supersticker" | "jewels" | "donation" | "gap">(true);
  // @ts-expect-error: neither a type nor a group
  chat(URL, { videoId, types: ["payed"] });
  // @ts-expect-error: videoId is required
  chat(URL, {});
  // @ts-expect-error: no such option
  chat(URL, { videoId, backfil: 3 });
}

export async function readDetails(given: ChatOptions | ChannelOptions): Promise<void> {
  for await (const m of chat(URL, { videoId, details: true, types: ["paid"] }))
    console.log(m.details.amount?.value, m.details.authorId, m.details.tier);
  for await (const m of chat(URL, { videoId, details: true }))
    console.log(m.details.amount?.currency, m.details.authorId);

  const satisfied = { videoId, details: true, types: ["polls"] } satisfies ChatOptions;
  for await (const m of chat(URL, satisfied)) {
    same<typeof m.type, "poll" | "poll_result" | "gap">(true);
    console.log(m.details.authorId);
  }
  const typed: ChatOptions<true> = { videoId, details: true };
  for await (const m of chat(URL, typed)) console.log(m.details.authorId);
  const ofChannel: ChannelOptions<true> = { channel: "@somebody", details: true };
  for await (const m of chat(URL, ofChannel)) console.log(m.videoId, m.details.authorId);
  // Options whose `details` may be true or false: there may be details.
  for await (const m of chat(URL, options)) {
    console.log(m.details?.authorId);
    // @ts-expect-error: they may be missing
    console.log(m.details.authorId);
  }
  chat(URL, given);
  chat(URL, { ...typed, transport: "log", until: "now" });

  const wrapped = <D extends boolean = false>(own: Omit<ChatOptions<D>, "videoId">) =>
    chat(URL, { ...own, videoId });
  for await (const m of wrapped({ details: true })) console.log(m.details.authorId);
  // @ts-expect-error: details were not asked for
  for await (const m of wrapped({})) console.log(m.details);
}

export async function readGeneric<D extends boolean>(own: ChatOptions<D>): Promise<void> {
  for await (const m of chat(URL, own)) if (m.type === "superchat") console.log(m.author, m.amount);
}

export const bare = (m: BareMessageOf<"chat"> & EightFields): string => m.author;

export async function readHistory(): Promise<void> {
  const options: HistoryOptions<true, "polls"> = { videoId, from: "2026-11-20T20:00:00Z", to: Date.now() };
  for await (const m of history(URL, { ...options, details: true, types: ["polls"] })) {
    same<typeof m.type, "poll" | "poll_result" | "gap">(true);
    if (m.type === "poll") console.log(m.cursor, m.details.poll.question);
  }
  for await (const m of history(URL, { videoId, after: 5, before: 9, q: "hello", author: "UC" })) {
    const message: Message = m;
    // @ts-expect-error: details were not asked for
    console.log(m.details, message);
  }
  // @ts-expect-error: not a moment
  chat(URL, { videoId, until: "then" });
}

export async function readChannel(saved: string | undefined): Promise<void> {
  const options: ChannelOptions = { channel: "@somebody", cursor: saved };
  const any: ChannelChat = chat(URL, options);
  const room = chat(URL, { channel: "@somebody", cursor: any.cursor, types: ["polls"], details: true });
  room.on("channel", ({ state, startsAt, videoId, reason }: ChannelState) => {
    same<typeof state, "live" | "upcoming" | "waiting">(true);
    console.log(startsAt, videoId, reason);
  });
  room.on("gap", (gap: OfVideo<Gap>) => console.log(gap.videoId, gap.after));
  // @ts-expect-error: one video's end is not the end
  room.on("end", () => {});
  for await (const m of room) {
    same<typeof m.videoId, string>(true);
    same<typeof m.cursor, number>(true);
    if (m.type === "poll") console.log(m.details.poll.question);
    // @ts-expect-error: not among the types
    if (m.type === "superchat") console.log(m);
  }
  same<typeof room.cursor, string | undefined>(true);
  // @ts-expect-error: a number names no video
  chat(URL, { channel: "@somebody", cursor: 5 });
  // @ts-expect-error: a channel has no end
  chat(URL, { channel: "@somebody", until: "now" });
  // @ts-expect-error: one or the other
  chat(URL, { channel: "@somebody", videoId });
  // @ts-expect-error: only of a channel
  chat(URL, { videoId }).on("channel", () => {});
}

export async function readSeveral(saved: string | undefined): Promise<void> {
  const room = merged(URL, {
    videoIds: [videoId],
    cursor: saved,
    until: "now",
    backfill: 5,
    types: ["paid"],
  });
  room.on("init", (init: Init) => console.log(init.videoId));
  room.on("end", ({ videoId, reason }) =>
    same<[typeof videoId, typeof reason], [string, End["reason"]]>(true),
  );
  room.on("error", ({ videoId, code }) =>
    same<[typeof videoId, typeof code], [string | undefined, ErrorCode]>(true),
  );
  room.on("gap", (gap: OfVideo<Gap>) => console.log(gap.videoId, gap.after));
  for await (const m of room) {
    same<typeof m.videoId, string>(true);
    same<typeof m.type, "superchat" | "supersticker" | "jewels" | "donation" | "gap" | "error">(true);
    // @ts-expect-error: details were not asked for
    console.log(m.details);
    console.log(m.cursor, m.author, m.message);
    if (m.type === "error") console.log((m satisfies DeadChat).error.code);
  }
  for await (const m of merged(URL, { videoIds: [videoId], details: true, cursors: room.cursors }))
    console.log(m.details.authorId, m.details.amount?.value);
  // @ts-expect-error: a cursor is a number
  merged(URL, { videoIds: [videoId], cursors: { [videoId]: "5" } });
  same<typeof room.cursor, string | undefined>(true);
  const any: MergedChats = merged(URL, { videoIds: [videoId] });
  // @ts-expect-error: several
  merged(URL, { videoId });
  any.on("channel", ({ state, channel }) => console.log(state, channel));
}

export async function readSeveralChannels(saved: Readonly<Record<string, number>>): Promise<void> {
  const own = { channels: ["@a", "@b"], cursors: saved, details: true } satisfies MergedOptions;
  for await (const m of merged(URL, own)) {
    same<typeof m.videoId, string>(true);
    if (m.type === "poll") console.log(m.details.poll.question);
    console.log(m.details.authorId, m.details.amount?.value);
  }
  const typed: MergedOptions<true, "paid"> = { videoIds: [videoId], channels: ["@a"] };
  const room = merged(URL, { ...typed, details: true, types: ["paid"] });
  room.on("init", ({ channel }) => same<typeof channel, string | undefined>(true));
  for await (const m of room) if (m.type === "superchat") console.log(m.details.tier);
  // @ts-expect-error: a list
  merged(URL, { channels: "@a" });
}

export function listen(room: Chat): () => void {
  room.on("init", (init: Init) => console.log(init.videoId, init.cursor));
  room.on("gap", (gap: Gap) => console.log(gap.after, gap.cursor, gap.details?.gap.since));
  room.on("state", (state) => same<typeof state, State>(true));
  room.on("end", ({ reason }) => console.log(reason));
  room.on("error", (error) => same<typeof error, ChatError>(true));
  // @ts-expect-error: no such event
  room.on("close", () => {});
  // @ts-expect-error: only read
  room.cursor = 1;
  room.close();
  return room.on("message", (m) => same<typeof m, Message>(true));
}

export function name(m: Message): string {
  switch (m.type) {
    case "chat":
    case "superchat":
      return m.author;
    default:
      return m.message;
  }
}

export const sticker = (m: MessageOf<"supersticker" | "poll", true>): string =>
  m.type === "poll" ? m.details.poll.question : m.details.sticker.label;

export async function pollAndProbe(): Promise<ProbeRow[]> {
  const options: PollOptions<true> = { videoId, details: true, minDelayMs: 1000, includeInitial: false };
  for await (const m of poll(URL, options)) {
    console.log(m.details, m.id);
    // @ts-expect-error: a polled message has no cursor
    console.log(m.cursor);
  }
  const { rows }: ProbeResult = await probe(URL, { videoId, headers: { authorization: "x" }, fetch });
  // @ts-expect-error: not a text
  chat(URL, { videoId, token: 5 });
  merged(URL, { videoIds: [videoId], token: async () => "x" });
  history(URL, { videoId, token: () => "x" });
  await probe(URL, { videoId, token: "x" });
  return rows;
}

export const options: ChatOptions = {
  videoId,
  backoff: { baseMs: 100 },
  retry: (error, attempt) => {
    if (error instanceof ChatError && error.status === 404) return 30_000;
    return attempt > 10 ? false : undefined;
  },
};
export const anyRoom: Chat = chat(URL, options);
export const details: Details = { rank: 1 };
export const codes: ErrorCode[] = ["NO_LIVE_CHAT", "NETWORK", "HTTP"];
export const group: "poll" | "poll_result" | undefined = GROUPS.polls[0];
// @ts-expect-error: no such code
export const wrong: ErrorCode = "NO_SUCH_CODE";
