/**
 * What the SDK does on a real service, in whatever runtime this is. It needs only web standards, and a stage
 * that plays the chat's other side.
 */
import type * as Sdk from "../../../client/index.ts";

/** A case's part of the stage. */
interface Stage {
  sdk: typeof Sdk;
  /** How the chats of videos are read. */
  transport: "sse" | "log";
  /** The base URL of the service, and of one where nothing is public. */
  service: string;
  guarded: string;
  /** The video of a live chat that is this case's alone, and its channel. */
  videoId: string;
  channel: string;
  /**
   * Lets the other side of a chat do something, by default of the case's own; resolves to the ids of the
   * messages that it said.
   */
  act(what: Act, count?: number, videoId?: string): Promise<string[]>;
  /** Starts another chat, a newer stream of the same channel. Resolves to its video. */
  another(): Promise<string>;
}

/**
 * `cut` breaks all connections to the service. `expire` makes the upstream refuse all tokens. `token`
 * resolves to a token of the service for the video, which is valid for two seconds.
 */
export type Act = "say" | "cut" | "expire" | "end" | "token";

/** How long a case may take, in milliseconds. */
const LIMIT_MS = 60_000;

const FAST = { backfill: 500, backoff: { baseMs: 1 } };
const OVER = { reason: "no more continuations" };

function same(seen: unknown, expected: unknown): void {
  const [one, other] = [JSON.stringify(seen), JSON.stringify(expected)];
  if (one !== other) throw new Error(`${one}, not ${other}`);
}

/** Resolves to the error that the work throws. */
async function thrownBy(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

async function idsOf(messages: AsyncIterable<{ id: string }>, max = Number.POSITIVE_INFINITY) {
  const ids: string[] = [];
  for await (const { id } of messages) if (ids.push(id) >= max) break;
  return ids;
}

export const CASES: Record<string, (stage: Stage) => Promise<void>> = {
  "yields each message once and in order over connections that are cut": async (stage) => {
    const { sdk, service, videoId } = stage;
    const said = await stage.act("say", 30);
    const room = sdk.chat(service, { ...FAST, videoId, details: true });
    const [states, cursors, ids]: [string[], number[], string[]] = [[], [], []];
    room.on("gap", () => states.push("gap"));
    room.on("state", (state) => states.push(state));
    for await (const { id, cursor, details } of room) {
      if (!details.publishedAt) throw new Error(`no details: ${id}`);
      cursors.push(cursor);
      ids.push(id);
      if (ids.length % 30 > 0) continue;
      if (ids.length === 120) await stage.act("end");
      else said.push(...(await stage.act("say", 30)));
      if (ids.length < 120) await stage.act("cut");
    }
    same(ids, said);
    same(
      cursors,
      cursors.map((_, index) => (cursors[0] ?? 0) + index),
    );
    same(room.end, OVER);
    // Some runtimes repeat a poll by themselves if its connection is cut.
    const isRepeated = stage.transport === "log" && !states.includes("reconnecting");
    same([...new Set(states)], ["connecting", "open", ...(isRepeated ? [] : ["reconnecting"]), "closed"]);
  },

  "continues after the cursor of an earlier room": async (stage) => {
    const { sdk, service, videoId } = stage;
    const said = await stage.act("say", 20);
    const first = sdk.chat(service, { ...FAST, videoId });
    const ids = await idsOf(first, 8);
    same(first.state, "closed");
    await stage.act("end");
    ids.push(...(await idsOf(sdk.chat(service, { ...FAST, videoId, cursor: first.cursor }))));
    same(ids, said);
  },

  "yields the chosen types, and moves its cursor past the others": async (stage) => {
    const { sdk, service, videoId } = stage;
    await stage.act("say", 40);
    const whole = sdk.chat(service, { ...FAST, videoId });
    const types: string[] = [];
    for await (const { type } of whole) if (types.push(type) === 40) await stage.act("end");
    // The types that the last message is not of, so that the cursor must move beyond the last one chosen.
    const [group, wanted] =
      types.at(-1) === "membership" ? (["paid", "superchat"] as const) : (["members", "membership"] as const);
    const some = sdk.chat(service, { ...FAST, videoId, cursor: 0, types: [group] });
    const chosen: string[] = [];
    for await (const { type } of some) chosen.push(type);
    const expected = types.filter((type) => type === wanted);
    same([chosen, some.cursor], [expected, whole.cursor]);
    if (expected.length === 0) throw new Error(`no ${wanted} among ${types}`);
  },

  "reads the stored messages, as a chat up to now and as a history": async (stage) => {
    const { sdk, service, videoId } = stage;
    const said = await stage.act("say", 20);
    const types: string[] = [];
    for await (const { type } of sdk.chat(service, { ...FAST, videoId })) if (types.push(type) === 20) break;
    const now = sdk.chat(service, { ...FAST, videoId, cursor: 0, until: "now" });
    same([await idsOf(now), now.end], [said, { reason: "until" }]);
    same(await idsOf(sdk.history(service, { videoId })), said);
    const options = { videoId, types: ["members"], before: now.cursor, details: true } as const;
    const found: string[] = [];
    for await (const { type, details } of sdk.history(service, options)) if (details) found.push(type);
    same(
      found,
      types.slice(0, -1).filter((type) => type === "membership"),
    );
  },

  "follows a channel from one stream to the next, across cuts and in a later room": async (stage) => {
    const { sdk, service, channel, videoId } = stage;
    const said = await stage.act("say", 10);
    let room = sdk.chat(service, { ...FAST, channel });
    const [ids, news]: [string[], string[]] = [[], []];
    room.on("channel", ({ state, videoId }) => news.push(`${state} ${videoId}`));
    for await (const { id } of room) {
      if (ids.push(id) < 10) continue;
      await stage.act("cut");
      said.push(...(await stage.act("say", 5)));
      if (ids.length === 15) break;
    }
    // The channel turns to the next stream where the service has read this one: first all must be stored.
    let stored = 0;
    while (stored < said.length) stored = (await idsOf(sdk.history(service, { videoId }))).length;
    const next = await stage.another();
    said.push(...(await stage.act("say", 10, next)));
    same([room.cursor?.slice(0, 12), news[0]], [`${videoId}.`, `live ${videoId}`]);
    room = sdk.chat(service, { ...FAST, channel, cursor: room.cursor });
    const videos = new Set<string>();
    for await (const m of room) {
      videos.add(m.videoId);
      if (ids.push(m.id) === said.length) break;
    }
    same([ids, [...videos], room.cursor?.slice(0, 12)], [said, [videoId, next], `${next}.`]);
  },

  "reads several chats on one connection once, in order across cuts, to the last end": async (stage) => {
    const { sdk, service } = stage;
    const videoIds = [stage.videoId, await stage.another(), await stage.another()];
    const said = new Map<string, string[]>();
    const say = async (videoId: string) => {
      said.set(videoId, [...(said.get(videoId) ?? []), ...(await stage.act("say", 10, videoId))]);
    };
    for (const videoId of videoIds) await say(videoId);
    const room = sdk.merged(service, { ...FAST, videoIds: [...videoIds, "no-chat-her"] });
    const [ends, errors]: [string[], unknown[]] = [[], []];
    room.on("gap", (gap) => errors.push(gap));
    room.on("end", ({ videoId }) => ends.push(videoId));
    room.on("error", ({ videoId, code }) => errors.push([videoId, code]));
    const got = new Map<string, string[]>();
    let count = 0;
    for await (const { videoId, id } of room) {
      got.set(videoId, [...(got.get(videoId) ?? []), id]);
      count += 1;
      if (count === 30) await stage.act("end", 0, videoIds[0]);
      if (count === 30 || count === 50) for (const later of videoIds.slice(1)) await say(later);
      if (count === 30 || count === 50) await stage.act("cut");
      if (count === 70) for (const later of videoIds.slice(1)) await stage.act("end", 0, later);
    }
    for (const videoId of videoIds) same(got.get(videoId), said.get(videoId));
    same([ends.sort(), errors], [videoIds, [["no-chat-her", "NO_LIVE_CHAT"]]]);
  },

  "gives listeners the whole chat": async (stage) => {
    const { sdk, service, videoId } = stage;
    const said = await stage.act("say", 10);
    const room = sdk.chat(service, { ...FAST, videoId });
    const seen: string[] = [];
    room.on("init", (init) => seen.push(init.videoId));
    room.on("message", ({ id }) => {
      if (seen.push(id) === 11) void stage.act("end");
    });
    const end = await new Promise((resolve, reject) => {
      room.on("end", resolve);
      room.on("error", reject);
    });
    same([end, seen], [OVER, [videoId, ...said]]);
  },

  "ends by a signal with its reason, and by close() silently": async (stage) => {
    const { sdk, service, videoId } = stage;
    await stage.act("say", 1);
    const abort = new AbortController();
    const reason = new Error("enough");
    const aborted = sdk.chat(service, { ...FAST, videoId, signal: abort.signal });
    aborted.on("message", () => setTimeout(() => abort.abort(reason)));
    if ((await thrownBy(() => idsOf(aborted))) !== reason) throw new Error("another reason");
    const closed = sdk.chat(service, { ...FAST, videoId });
    closed.on("message", () => setTimeout(() => closed.close()));
    same((await idsOf(closed)).length, 1);
  },

  "asks for a token when it needs one, and loses nothing when a token ends": async (stage) => {
    const { sdk, guarded, videoId } = stage;
    const said = await stage.act("say", 10);
    const error = await thrownBy(() => idsOf(sdk.chat(guarded, { videoId })));
    same((error as Sdk.ChatError).code, "UNAUTHORIZED");
    let asked = 0;
    let askedAgain = () => {};
    // A log is not reconnected: only its next poll needs another token.
    const isRenewed = new Promise<void>((resolve) => {
      askedAgain = resolve;
    });
    const token = async () => {
      if (++asked > 1) askedAgain();
      return `${await stage.act("token")}`;
    };
    const ids: string[] = [];
    const failures: string[] = [];
    const retry = ({ code }: Sdk.ChatError) => void failures.push(code);
    for await (const { id } of sdk.chat(guarded, { ...FAST, videoId, token, retry })) {
      ids.push(id);
      if (ids.length === 10) await isRenewed;
      if (ids.length === 10) said.push(...(await stage.act("say", 5)));
      if (ids.length === 15) await stage.act("end");
    }
    // The end of a stream is a cut to the client, whatever ended it.
    same([ids, failures.filter((code) => code !== "NETWORK")], [said, []]);
  },

  "throws the service's refusal": async ({ sdk, service }) => {
    const error = await thrownBy(() => idsOf(sdk.chat(service, { videoId: "no-chat-her" })));
    if (!(error instanceof sdk.ChatError)) throw error;
    same([error.code, error.status], ["NO_LIVE_CHAT", 404]);
  },

  "reports that nothing answers": async ({ sdk, videoId }) => {
    const room = sdk.chat("http://127.0.0.1:1", { videoId, retry: () => false });
    const error = await thrownBy(() => idsOf(room));
    if (!(error instanceof sdk.ChatError)) throw error;
    same([error.code, error.status], ["NETWORK", undefined]);
  },

  "polls a chat by itself, past an expired token": async (stage) => {
    const { sdk, service, videoId } = stage;
    const said = await stage.act("say", 10);
    const ids: string[] = [];
    for await (const { id } of sdk.poll(service, { videoId, minDelayMs: 1 })) {
      ids.push(id);
      if (ids.length === 10) await stage.act("expire");
      if (ids.length === 10) said.push(...(await stage.act("say", 10)));
      if (ids.length === 20) await stage.act("end");
    }
    same(ids, said);
  },

  "probes every client and endpoint": async (stage) => {
    const { sdk, service, videoId } = stage;
    await stage.act("say", 1);
    const { rows } = await sdk.probe(service, { videoId });
    same([rows.length, rows.some(({ ok }) => ok)], [24, true]);
  },
};

export const TRANSPORTS = ["sse", "log"] as const;

/**
 * Plays every case with each transport and the stage at this URL. Yields the transport, the case's name, and
 * why it failed; "" if it did not.
 */
export async function* suite(sdk: typeof Sdk, stage: string): AsyncGenerator<[...string[]]> {
  for (const transport of TRANSPORTS) {
    const chat = (url: string, options: Parameters<typeof Sdk.chat>[1]) =>
      sdk.chat(url, { ...options, transport } as Sdk.ChatOptions);
    for await (const result of casesOf({ ...sdk, chat } as typeof Sdk, transport, stage))
      yield [transport, ...result];
  }
}

async function* casesOf(
  sdk: typeof Sdk,
  transport: Stage["transport"],
  stage: string,
): AsyncGenerator<[name: string, failure: string]> {
  const ask = async (path: string) => (await fetch(`${stage}/${path}`, { method: "POST" })).json();
  for (const [name, play] of Object.entries(CASES)) {
    const { service, guarded, videoId, channel } = (await ask("open")) as Stage;
    const act = (what: Act, count = 0, of = videoId) =>
      ask(`${what}?videoId=${of}&count=${count}`) as Promise<string[]>;
    const another = async () => ((await ask(`open?channel=${channel}`)) as Stage).videoId;
    let limit: ReturnType<typeof setTimeout> | undefined;
    const isOver = new Promise<string>((resolve) => {
      limit = setTimeout(resolve, LIMIT_MS, `not over after ${LIMIT_MS} ms`);
    });
    const result = play({ sdk, transport, service, guarded, videoId, channel, act, another }).then(
      () => "",
      (error) => `${error} ${error?.stack}`,
    );
    yield [name, await Promise.race([result, isOver])];
    clearTimeout(limit);
  }
}
