/**
 * The HTTP server: adds the routes that somebody may use, and limits each request and the number of
 * connections. A request with too long a URL, too many headers, or a body that is too large or nests too deep
 * is refused.
 */
import type { RequestListener, Server } from "node:http";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Clock } from "../base/clock.ts";
import { nestingOf } from "../base/json.ts";
import { wireJson } from "../base/wire-json.ts";
import { Origin } from "../origin/origin.ts";
import { atCapacity } from "../protocol/capacity.ts";
import { invalidRequest, RelayError } from "../protocol/errors.ts";
import type { WatchedChannels } from "../rooms/channels/channels.ts";
import type { VideoChannels } from "../rooms/channels/video-channels.ts";
import type { Featuring } from "../rooms/featuring.ts";
import type { RoomList } from "../rooms/listing.ts";
import type { Recordings } from "../rooms/recordings/recordings.ts";
import type { Rooms } from "../rooms/rooms.ts";
import { Activities } from "../serving/history/activity.ts";
import type { History } from "../serving/history/history.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { EgressPool } from "../upstream/egress/pool.ts";
import { Access, type AccessSettings } from "./access/access.ts";
import { AddressLimit } from "./access/address-limit.ts";
import { Expiries } from "./access/expiries.ts";
import { withoutToken } from "./access/request-token.ts";
import { type Subjects, ViewerPlaces } from "./access/viewer-places.ts";
import { callerPollingRoutes } from "./caller-polling.ts";
import { Backpressure } from "./connections/backpressure.ts";
import { httpServer, inTurns, type RequestTimeouts } from "./connections/create-http-server.ts";
import { InFlightRequests } from "./connections/in-flight-requests.ts";
import { RawErrors } from "./connections/raw-errors.ts";
import { RequestTurns } from "./connections/request-turns.ts";
import { handOverWorks } from "./connections/taken-socket.ts";
import { ANSWER_LIMITS, type AnswerLimits, boundUnreadResponses } from "./connections/unread-responses.ts";
import { allowOrigins, type CorsSettings, corsHeaders } from "./cors.ts";
import { answerErrors, answerUnroutable, nothingAt, pathOf, refuseUnserved } from "./error-answers.ts";
import { featuredRoute } from "./featured-route.ts";
import { healthRoutes, type ProcessGroup } from "./health-routes.ts";
import { ignoreBodies } from "./ignored-bodies.ts";
import { LogReads, type LogSettings } from "./log/log-reads.ts";
import { guardLogs, logGuards, logRoute } from "./log/log-route.ts";
import { messagesRoute } from "./messages.ts";
import { originRoutes, passOnTo } from "./origin-routes.ts";
import { probeRoute } from "./probe-route.ts";
import { recordingsRoutes } from "./recordings-routes.ts";
import { roomRoute, roomsRoute } from "./rooms-routes.ts";
import { assertBounded, PAGES } from "./route-bounds.ts";
import { describeApi } from "./schemas/openapi.ts";
import { compilersFactory } from "./schemas/validators.ts";
import { mergedRoute } from "./streams/merged.ts";
import { streamRoute } from "./streams/stream.ts";
import { videoRoute } from "./video-route.ts";
import { notFoundPage, type PageSettings, pageRoutes } from "./web-pages.ts";
import { leaveToFirst, refuseStrangers } from "./worker-routes.ts";

/** Limits of a request. */
const MAX_URL_LENGTH = 8 * 1024;
const MAX_HEADERS = 100;
const MAX_BODY_BYTES = 64 * 1024;
const MAX_BODY_NESTING = 20;
/** A longer body, or one of unknown length, is large; 200 large ones may arrive at the same time. */
const SMALL_BODY_BYTES = 16 * 1024;
const MOST_LARGE_BODIES = 200;
/** Connections to the server of the metrics. */
const MOST_OPERATORS = 32;

/** What only an instance has that reads chats itself. */
interface ReadingSettings {
  /** After how many days messages are deleted; 0: never. */
  retentionDays: number;
}

export interface HttpSettings extends PageSettings, Partial<ReadingSettings> {
  access: AccessSettings;
  /** By default `ANSWER_LIMITS`. */
  answers?: AnswerLimits;
  /** Whether to compress streams and histories for clients that accept it. */
  compression: boolean;
  /** The interval of keepalives on connections of several chats; each room has its own. */
  keepaliveMs: number;
  cors: CorsSettings;
  log: LogSettings;
  /** Infinity means no limit. */
  maxViewersPerAddress: number;
  /** Further connections are closed at once; Infinity means no limit. */
  maxConnections: number;
  /** The number of proxies in front whose `X-Forwarded-For` is trusted. */
  trustedProxies: number;
  timeouts: RequestTimeouts;
  /** Whether the metrics are served here, and not at an address of their own. */
  hasMetrics: boolean;
  /** The other processes on the same port. */
  group?: ProcessGroup;
  /** Whether the clients are this service's own workers, whose streams do not count as viewers. */
  isForWorkers?: boolean;
  /** Whether this process is a worker: an edge of the first process on the same port. */
  isWorker?: boolean;
}

export interface Served {
  rooms: Rooms;
  channels: WatchedChannels;
  videoChannels: VideoChannels;
  telemetry: Telemetry;
  clock: Clock;
  /** Where history, rooms and recordings come from: the instance's own store, or the origin of an edge. */
  source: OwnSource | Origin;
  /** Whether deletions change stored messages; may change at any time. */
  isBlanking(): boolean;
  /** If the service has several processes: what counts the viewers of its tokens. */
  subjects?: Subjects | undefined;
}

interface OwnSource {
  featuring: Featuring;
  list: RoomList;
  history: History;
  recordings: Recordings;
  egresses: EgressPool;
}

export async function createServer(served: Served, settings: HttpSettings): Promise<FastifyInstance> {
  const { rooms, channels, videoChannels, source, telemetry, clock, isBlanking } = served;
  const access = await Access.open({ settings: settings.access, videoChannels, clock, telemetry });
  const inFlight = new InFlightRequests();
  const app = boundServer(inFlight, served, settings);
  guardRequests(app, access, served, settings);
  describeApi(app);
  const streamParts = {
    rooms,
    channels,
    videoChannels,
    clock,
    telemetry,
    inFlight,
    ...(await streamBounds(app, served, settings)),
    compresses: settings.compression,
    keepaliveMs: settings.keepaliveMs,
  };
  const turns = new RequestTurns(PAGES, "pages");
  const reads = new LogReads({ rooms, clock, telemetry, source, isBlanking, turns, log: settings.log });
  const pass = source instanceof Origin ? passOnTo(source, settings) : undefined;
  if (access.serves("watch")) {
    streamRoute(app, streamParts);
    mergedRoute(app, streamParts);
    logRoute(app, { ...streamParts, reads, pass });
    videoRoute(app, videoChannels);
  }
  if (pass) originRoutes(app, pass, access);
  else ownRoutes(app, served, source as OwnSource, settings, access, turns);
  healthRoutes(app, { rooms, telemetry, group: settings.group, isBlanking, hasMetrics: settings.hasMetrics });
  pageRoutes(app, settings);
  return app;
}

/** A server without routes, whose connections and errors are bounded and counted. */
function boundServer(
  inFlight: InFlightRequests,
  { telemetry, clock }: Served,
  settings: HttpSettings,
): FastifyInstance {
  const { cors, trustedProxies, timeouts } = settings;
  const rawErrors = new RawErrors(clock, telemetry, inFlight, corsHeaders(cors, undefined));
  const app = fastify({
    bodyLimit: MAX_BODY_BYTES,
    forceCloseConnections: true,
    trustProxy: (_address, hop) => hop < trustedProxies,
    clientErrorHandler: (error, socket) => rawErrors.refuseUnparseable(error, socket),
    serverFactory: (handle) => httpServer(inFlight.listener(inTurns(handle as RequestListener)), timeouts),
    rewriteUrl: (raw) => withoutToken(raw, normalized(raw.url ?? "")),
    routerOptions: { maxParamLength: MAX_URL_LENGTH }, // the parser of video ids has a limit of its own
    schemaController: { compilersFactory },
    frameworkErrors: (error, { url, headers }, reply) => {
      reply.headers({ ...logGuards(url), ...corsHeaders(cors, headers.origin) });
      answerUnroutable(error, reply as FastifyReply, telemetry);
    },
  });
  rawErrors.watch(app.server);
  boundConnections(app.server, settings.maxConnections, telemetry);
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
  app.setReplySerializer(wireJson); // for errors, which have no schema
  answerErrors(app, telemetry, clock, notFoundPage(settings));
  return app;
}

/**
 * Adds what each request passes before its route, in this order: the workers' secret, the headers of the log
 * and of other origins, its bounds, what a worker passes on, and its rights.
 */
function guardRequests(
  app: FastifyInstance,
  access: Access,
  { source, telemetry }: Served,
  settings: HttpSettings,
): void {
  const { isForWorkers, trustedProxies, maxViewersPerAddress } = settings;
  if (isForWorkers) refuseStrangers(app, settings.access.workerToken ?? "");
  guardLogs(app);
  allowOrigins(app, settings.cors);
  boundRequests(app);
  boundUnreadResponses(app, settings.answers ?? ANSWER_LIMITS);
  const countsAddresses = Number.isFinite(maxViewersPerAddress) && !isForWorkers;
  if (countsAddresses && trustedProxies === 0) noticeProxy(app, telemetry);
  if (source instanceof Origin && settings.isWorker) leaveToFirst(app, source);
  refuseUnserved(app, access);
  access.guard(app);
  app.addHook("onRoute", ({ url }) => assertBounded(url));
}

/** What bounds the streams of all routes together: their unread bytes, their number, and their time. */
async function streamBounds(
  app: FastifyInstance,
  { rooms, telemetry, clock, subjects }: Served,
  { isForWorkers, maxViewersPerAddress, answers = ANSWER_LIMITS }: HttpSettings,
) {
  const { stopped } = rooms;
  const handsOver = await handOverWorks();
  if (!handsOver) telemetry.viewers.notHandedOver();
  const backpressure = new Backpressure({ clock, telemetry }, answers.stallMs, stopped);
  // Its sockets were taken from the server, so the server's own close would wait for them.
  app.addHook("preClose", async () => backpressure.close());
  const addresses = isForWorkers ? { take: () => rooms.exempt() } : new AddressLimit(maxViewersPerAddress);
  const expiries = new Expiries({ clock, telemetry }, stopped);
  return { handsOver, backpressure, viewerPlaces: new ViewerPlaces(addresses, expiries, subjects) };
}

/** The operator's own server: the metrics, and the state of the service. `group`: see `HttpSettings`. */
export function createMetricsServer(
  { rooms, telemetry, clock, isBlanking }: Served,
  { group, timeouts }: Pick<HttpSettings, "group" | "timeouts">,
): FastifyInstance {
  const app = fastify({
    bodyLimit: MAX_BODY_BYTES,
    forceCloseConnections: true,
    serverFactory: (handle) => httpServer(handle as RequestListener, timeouts),
  });
  app.server.maxConnections = MOST_OPERATORS;
  answerErrors(app, telemetry, clock, (_request, reply) => void reply.code(404).send());
  app.addHook("onRequest", async (request) => {
    if (request.is404) throw nothingAt(pathOf(request));
  });
  healthRoutes(app, { rooms, telemetry, group, isBlanking, hasMetrics: true });
  return app;
}

/** Limits the connections, whether they ask, wait or stream. */
function boundConnections(server: Server, max: number, telemetry: Telemetry): void {
  if (max === Number.POSITIVE_INFINITY) return;
  server.maxConnections = max;
  server.on("drop", () => telemetry.service.connectionDropped());
}

function ownRoutes(
  app: FastifyInstance,
  { rooms, clock, isBlanking }: Served,
  { featuring, list, history, recordings, egresses }: OwnSource,
  settings: HttpSettings,
  access: Access,
  turns: RequestTurns,
): void {
  if (access.serves("poll")) callerPollingRoutes(app, egresses, clock);
  if (access.serves("probe")) probeRoute(app, egresses);
  if (access.serves("record")) ignoreBodies(app, (own) => recordingsRoutes(own, recordings, turns));
  if (access.serves("rooms")) roomsRoute(app, list, settings.retentionDays ?? 0);
  if (access.serves("feature") || access.serves("watch")) featuredRoute(app, featuring, access, turns);
  if (!access.serves("watch")) return;
  roomRoute(app, list, new Activities(history, egresses.witness), access, turns);
  messagesRoute(app, { rooms, history, turns, compresses: settings.compression, isBlanking });
}

/**
 * The target's path and query, without the host of an absolute form, `http://host/path?query`. Unreserved
 * characters of the path are not escaped (RFC 3986, 6.2.2.2), so that `/v1/%73tream` is `/v1/stream` to all
 * code here.
 */
function normalized(target: string): string {
  return target
    .replace(/^https?:\/\/[^/?#]*\/?/i, "/")
    .replace(/^[^?#]+/, (path) => path.replaceAll(/%[2-7][0-9a-f]/gi, unescaped));
}

/** The character of an escape if it is an unreserved one, else the escape. */
function unescaped(escaped: string): string {
  const character = decodeURIComponent(escaped);
  return /[\w.~-]/.test(character) ? character : escaped;
}

/** Logs the first request that seems to come through a proxy. */
function noticeProxy(app: FastifyInstance, telemetry: Telemetry): void {
  let isNoticed = false;
  app.addHook("onRequest", async ({ headers }) => {
    if (isNoticed || headers["x-forwarded-for"] === undefined) return;
    isNoticed = true;
    telemetry.requests.proxyNotTrusted();
  });
}

/** Limits the size of requests. A body must be JSON. */
function boundRequests(app: FastifyInstance): void {
  app.addHook("onRequest", async ({ raw }) => {
    if ((raw.url?.length ?? 0) > MAX_URL_LENGTH) {
      throw new RelayError("HEADERS_TOO_LARGE", `The URL is longer than ${MAX_URL_LENGTH} characters.`);
    }
    if (raw.rawHeaders.length > 2 * MAX_HEADERS) {
      throw new RelayError("HEADERS_TOO_LARGE", `There are over ${MAX_HEADERS} headers.`);
    }
  });
  const arriving = new Set<FastifyRequest>();
  app.addHook("preParsing", async (request, { raw }) => {
    const { method, headers } = request;
    const isSmall = Number(headers["content-length"] ?? Number.POSITIVE_INFINITY) <= SMALL_BODY_BYTES;
    if ((method !== "POST" && method !== "PUT") || isSmall || raw.destroyed) return;
    if (arriving.size >= MOST_LARGE_BODIES) throw atCapacity("bodies");
    arriving.add(request);
    raw.once("close", () => arriving.delete(request));
  });
  app.addHook("preValidation", async (request) => void arriving.delete(request));
  const parseJson = app.getDefaultJsonParser("remove", "remove");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body: string, done) => {
    if (nestingOf(body) > MAX_BODY_NESTING) {
      done(invalidRequest(`body: nests deeper than ${MAX_BODY_NESTING}.`));
      return;
    }
    void parseJson(request, body, done);
  });
}
