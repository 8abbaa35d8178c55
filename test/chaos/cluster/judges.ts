/**
 * Judges a run. Every viewer received its room's messages once and in order, under the cursors of the tables,
 * and a notice of each break. The tables hold all messages of the chats, or say where some are lost. The
 * upstream had one reader for each room.
 */
import type { Simulator } from "../../../simulator/index.ts";
import { Verdict } from "../verdict.ts";
import type { Failover } from "./cluster.ts";
import { HOLDS_MS } from "./rooms.ts";
import { claimsNoted, isStored, type RoomTable, readTables, type Tables } from "./tables.ts";
import type { Sent, ViewerLog } from "./viewer-log.ts";

/**
 * The share of all polls that may begin while another of the room is unanswered: a process can freeze just
 * before its call.
 */
const LATE_POLLS = 1 / 1000;
/**
 * A gap that is longer may be shown where nothing is lost: the room was not read for longer than the upstream
 * keeps messages, and the one page a minute that proves a gap unnecessary was not to be had, or shows a chat
 * that is over. A gap begins with an answer, while the upstream counts from its call, so half must do.
 */
const LATE_MS = HOLDS_MS / 2;
/** How long after a failover a stream may continue with the old cursors. */
const NOTICED_MS = 15_000;
/** A message that says that others are missing before it. */
const isGap = (id: string) => id.startsWith("gap:");

interface Evidence {
  url: string;
  /** The ids of each video's messages. */
  said: ReadonlyMap<string, readonly string[]>;
  /** The rooms whose last message must be stored. */
  watched: ReadonlySet<string>;
  /** The viewers that stayed to the end, and those that did not. */
  viewers: readonly ViewerLog[];
  visitors?: readonly ViewerLog[];
  requests: Simulator["requests"];
  /** Rooms whose upstream holds little: only they may lose messages. */
  lossy?: ReadonlySet<string>;
  failovers?: readonly Failover[];
}

/** Compares the tables with each room's chat, and the viewers with the tables. */
export async function judge(evidence: Evidence, verdict = new Verdict()): Promise<Verdict> {
  const tables = await readTables(evidence.url);
  const histories = [...(evidence.failovers ?? []).map(({ before }) => before), tables];
  for (const [videoId, table] of tables) judgeTable(videoId, table, evidence, histories, verdict);
  for (const videoId of evidence.watched)
    if (!isStored(tables, videoId, evidence.said.get(videoId) ?? []))
      verdict.violate("log", `${videoId}: the last message of its chat is not stored`);
  for (const claim of await claimsNoted(evidence.url)) {
    verdict.count("claims of rooms");
    if (claim.is_stolen)
      verdict.violate("poller", `${claim.video_id}: taken over while its owner's lease was good`);
  }
  const all = [...evidence.viewers, ...(evidence.visitors ?? [])];
  for (const [index, viewer] of all.entries())
    judgeViewer(`viewer ${index}`, viewer, evidence, histories, verdict);
  for (const [index, viewer] of evidence.viewers.entries())
    judgeStay(`viewer ${index}`, viewer, evidence, verdict);
  judgeCursors(all, verdict);
  judgeUpstream(evidence, verdict);
  return verdict;
}

function judgeTable(
  videoId: string,
  { base, head, shift, ids }: RoomTable,
  evidence: Evidence,
  histories: readonly Tables[],
  verdict: Verdict,
): void {
  const violate = (what: string) => verdict.violate("log", `${videoId}: ${what}`);
  verdict.count("messages", ids.size);
  const cursors = [...ids.keys()];
  const odd = cursors.findIndex((cursor, index) => index > 0 && cursor !== (cursors[index - 1] ?? 0) + 1);
  if (odd > 0) violate(`cursor ${cursors[odd]} follows ${cursors[odd - 1]}, base ${base}`);
  const [first = base + 1] = cursors;
  const last = cursors.at(-1) ?? base;
  // Bounds may count cursors as viewers see them, or as the table numbers messages.
  const isWhole = [0, shift].some((by) => base === first - 1 + by && head === last + by);
  if (!isWhole) violate(`it has the cursors ${first} to ${last}, its row base ${base} and head ${head}`);
  const said = evidence.said.get(videoId) ?? [];
  const held = [...ids.values()];
  const isLossy = evidence.lossy?.has(videoId) ?? false;
  if (!isLossy && held.length > 0 && held[0] !== said[0])
    violate(`it begins with ${held[0]}, not ${said[0]}`);
  const hole = firstHole(held, said, isLossy, gapsOf(videoId, histories));
  if (hole) violate(hole);
}

/** The length of each gap of a room, in milliseconds, by the id of its message. */
function gapsOf(videoId: string, histories: readonly Tables[]): ReadonlyMap<string, number> {
  return new Map(histories.flatMap((tables) => [...(tables.get(videoId)?.gapsMs ?? [])]));
}

/**
 * The first message that is missing or repeated; in a lossy room, messages may be missing only behind a gap.
 */
function firstHole(
  ids: readonly string[],
  said: readonly string[],
  isLossy: boolean,
  gapsMs: ReadonlyMap<string, number>,
): string | undefined {
  const places = new Map(said.map((id, place) => [id, place]));
  let next: number | undefined;
  let isTold = false;
  for (const id of ids) {
    if (isGap(id)) {
      const ms = gapsMs.get(id) ?? 0;
      if (!isLossy && ms < LATE_MS) return `${id} of ${ms} ms is told, where nothing can be lost`;
      isTold = isLossy;
      continue;
    }
    const place = places.get(id);
    if (place === undefined) return `${id} was never said`;
    if (next !== undefined && place !== next && !(isTold && place > next))
      return `message ${place} of what was said follows ${next - 1}${isLossy ? ", and no gap is told" : ""}`;
    next = place + 1;
    isTold = false;
  }
  return undefined;
}

function judgeViewer(
  name: string,
  viewer: ViewerLog,
  evidence: Evidence,
  histories: readonly Tables[],
  verdict: Verdict,
): void {
  const { videoId, faults, stretches, breaks } = viewer;
  const { failovers = [] } = evidence;
  const violate = (what: string) => verdict.violate("stream", `${name} of ${videoId}: ${what}`);
  faults.forEach(violate);
  const said = evidence.said.get(videoId) ?? [];
  const gapsMs = gapsOf(videoId, histories);
  for (const stretch of stretches) {
    const ids = stretch.map(({ id }) => id);
    const hole = firstHole(ids, said, evidence.lossy?.has(videoId) ?? false, gapsMs);
    if (hole) violate(hole);
  }
  for (const { lastAt, openedAt, asked, begins } of breaks)
    if (!failovers.some(({ at }) => at <= openedAt && lastAt <= at + NOTICED_MS))
      violate(`it came back with ${asked} and began after ${begins}, though the database was the same`);
  const wrong = firstForeign(viewer, histories);
  if (wrong) violate(`cursor ${wrong.cursor} is not what the tables hold under it`);
  verdict.count("messages to viewers", viewer.messages.length);
  verdict.count("breaks that viewers were told of", breaks.length);
  for (const [code, times] of viewer.refusals) verdict.count(`refusals ${code}`, times);
}

/**
 * The first message that was never in any tables under its cursor; a shift may precede the closing of a
 * stream.
 */
function firstForeign({ videoId, messages }: ViewerLog, histories: readonly Tables[]): Sent | undefined {
  const rooms = histories.map((tables) => tables.get(videoId)).filter((room) => room !== undefined);
  const shifts = [...new Set(rooms.map(({ shift }) => shift))];
  return messages.find(
    ({ cursor, id }) => !rooms.some(({ ids }) => shifts.some((shift) => ids.get(cursor - shift) === id)),
  );
}

/** A viewer that stayed has everything, and each failover disconnected it. */
function judgeStay(
  name: string,
  viewer: ViewerLog,
  { said, failovers = [] }: Evidence,
  verdict: Verdict,
): void {
  if (viewer.hasEnded) return;
  const { videoId, openedAt } = viewer;
  const last = failovers.at(-1);
  if (last && openedAt < last.at)
    verdict.violate("stream", `${name} of ${videoId}: its stream went on, though another database came`);
  if (!viewer.isComplete(said))
    verdict.violate("delivery", `${name} of ${videoId}: did not get the last message`);
}

/** No cursor of a room ever names two messages, for any viewer and after any failover. */
function judgeCursors(viewers: readonly ViewerLog[], verdict: Verdict): void {
  for (const [videoId, logs] of Map.groupBy(viewers, (viewer) => viewer.videoId)) {
    const ids = new Map<number, string>();
    for (const { cursor, id } of logs.flatMap(({ messages }) => messages)) {
      const before = ids.get(cursor) ?? id;
      ids.set(cursor, before);
      if (before === id) continue;
      verdict.violate("log", `${videoId}: cursor ${cursor} was ${before} for one and ${id} for another`);
      break;
    }
  }
}

function judgeUpstream({ said, requests, failovers = [] }: Evidence, verdict: Verdict): void {
  let polls = 0;
  let late = 0;
  const busyUntil = new Map<string, number>();
  for (const { videoId = "", kind, at, finishedAt = at } of requests) {
    if (kind !== "get_live_chat" || !said.has(videoId)) continue;
    const before = busyUntil.get(videoId) ?? Number.NEGATIVE_INFINITY;
    polls += 1;
    if (at < before) late += 1;
    busyUntil.set(videoId, Math.max(before, finishedAt));
  }
  verdict.count("polls", polls);
  verdict.count("polls beside another", late);
  verdict.count("pages", requests.filter(({ kind }) => kind === "popout" || kind === "watch").length);
  // An owner that has not yet noticed a failover trusts a lease that the standby does not know.
  if (late > polls * LATE_POLLS + 1 + said.size * failovers.length)
    verdict.violate("poller", `${late} of ${polls} polls began while another was unanswered`);
}

/**
 * If instances share an address, no call starts too soon after another; the driver may see two late calls at
 * once.
 */
export function judgeSpacing(requests: Simulator["requests"], spacingMs: number, verdict: Verdict): void {
  const times = requests.map(({ at }) => at).toSorted((one, other) => one - other);
  const close = times.filter(
    (at, n) => at - (times[n - 1] ?? Number.NEGATIVE_INFINITY) < spacingMs / 2,
  ).length;
  verdict.count("calls from a shared address", times.length);
  verdict.count("calls too soon after another", close);
  if (close > times.length * CLOSE_CALLS)
    verdict.violate("gate", `${close} of ${times.length} calls came within ${spacingMs / 2} ms of another`);
}

/** The share of calls that load may bring too close together. */
const CLOSE_CALLS = 0.03;
