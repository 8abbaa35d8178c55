/**
 * The check of rights: each route that is not open needs one (`route-rights.ts`), which is public or comes
 * with a token. A right may be for some videos or channels alone: those that a request names are checked
 * here, too. Routes whose right nobody can have are not served.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest, preHandlerAsyncHookHandler } from "fastify";
import type { Clock } from "../../base/clock.ts";
import { isChannel } from "../../protocol/channel.ts";
import { RelayError } from "../../protocol/errors.ts";
import { type Right, Rights } from "../../protocol/rights.ts";
import type { VideoChannels } from "../../rooms/channels/video-channels.ts";
import { refuseUnavailable } from "../../serving/store-refusal.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import { clientGone } from "../connections/client-gone.ts";
import { OF_ACCESS, ofFault } from "../fault-codes.ts";
import { networkOf } from "./address-limit.ts";
import { askedNames } from "./asked-names.ts";
import { EVERYTHING, type Grant, grantOf, refusalOf, setOutcome, unauthorized } from "./grant.ts";
import { keySource } from "./keys.ts";
import { keepPrivate } from "./private-answers.ts";
import { tokenInHeader, tokenInQuery } from "./request-token.ts";
import { rightsOfRoute } from "./route-rights.ts";
import type { TokenKey } from "./token-key.ts";
import type { Tokens } from "./tokens.ts";

/** Longer tokens are refused unread. */
const MAX_TOKEN_LENGTH = 4096;

export interface AccessSettings {
  /** The rights that need no token, as `rightIn` returns them. */
  public: readonly string[];
  /** The secret with all rights; "" if there is none. */
  adminToken: string;
  /** What signs tokens; undefined if none are accepted. */
  tokenKey: TokenKey | undefined;
  /** What tokens must name as their audience; "" if anything will do. */
  audience: string;
  /** The secret of this service's own workers, at the address that only they use. */
  workerToken?: string;
}

interface AccessParts {
  settings: AccessSettings;
  /** Which channel a video belongs to. */
  videoChannels: Pick<VideoChannels, "isVideoOf" | "isAmong">;
  clock: Clock;
  telemetry: Telemetry;
}

export class Access {
  readonly public: Rights;
  readonly #digests: readonly Buffer[];
  readonly #tokens: Tokens | undefined;
  readonly #videoChannels: AccessParts["videoChannels"];
  readonly #telemetry: Telemetry;

  private constructor(
    { settings, telemetry, videoChannels }: AccessParts,
    rights: Rights,
    tokens: Tokens | undefined,
  ) {
    this.public = rights;
    this.#tokens = tokens;
    this.#telemetry = telemetry;
    this.#videoChannels = videoChannels;
    const secrets = [settings.adminToken, settings.workerToken ?? ""];
    this.#digests = secrets.filter((secret) => secret !== "").map(digest);
  }

  /** Loads what checks tokens only if there is a key. */
  static async open(parts: AccessParts): Promise<Access> {
    const { settings, clock, telemetry } = parts;
    const rights = new Rights(settings.public);
    if (!settings.tokenKey) return new Access(parts, rights, undefined);
    const { Tokens } = await import("./tokens.ts");
    const keys = keySource(settings.tokenKey, clock, telemetry);
    return new Access(parts, rights, new Tokens(keys, settings.audience, rights, clock));
  }

  async close(): Promise<void> {
    await this.#tokens?.close();
  }

  /** Whether somebody can have the right. */
  serves(right: Right): boolean {
    return this.public.hasSome(right) || this.#digests.length > 0 || this.#tokens !== undefined;
  }

  /** The rights of a request: those that are public, and those of its token. */
  rightsOf(request: FastifyRequest): Rights {
    return grantOf(request)?.rights ?? this.public;
  }

  /** Whether the request has this right for its videos and channels. Rejects as a check does. */
  async allows(right: Right, request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const others = this.#othersThan(right, request);
    const channels = this.rightsOf(request).channelsOf(right);
    return others.length === 0 || (await this.#areOfChannels(others, channels, request, reply));
  }

  /** The videos and channels of the request that the right does not name. */
  #othersThan(right: Right, request: FastifyRequest): string[] {
    const rights = this.rightsOf(request);
    return askedNames(request).filter((name) => !rights.hasFor(right, name));
  }

  /** Lets the routes that are added from now on be used only with their right. */
  guard(app: FastifyInstance): void {
    app.addHook("onRoute", (route) => {
      const rights = rightsOfRoute(route.url, route.method);
      if (!rights) return;
      if (!rights.some((right) => this.serves(right)))
        throw new Error(`${route.url} is served, but nobody can have its right`);
      route.onRequest = [this.#check(rights), ...[route.onRequest ?? []].flat()];
      route.onSend = [keepPrivate, ...[route.onSend ?? []].flat()];
      const isNamed = rights.some((right) => right === "watch" || right === "feature");
      if (isNamed && !rights.some((right) => this.public.has(right))) {
        route.preHandler = [this.#checkNames(rights), ...[route.preHandler ?? []].flat()];
      }
    });
    app.addHook("onClose", () => this.close());
  }

  /** Before anything of the request is read but its head. One of the rights is enough. */
  #check(rights: readonly Right[]) {
    const [first = "watch"] = rights;
    return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      if (rights.every((right) => this.public.has(right))) return; // a token can give no more
      try {
        const grant = await this.#grant(request);
        if (grant) {
          setOutcome(request, grant);
          this.#telemetry.access.accepted(grant.terms?.subject);
        }
        const held = grant?.rights ?? this.public;
        if (rights.some((right) => held.hasSome(right))) return;
        throw grant ? forbidden(first) : this.#tokenMissing();
      } catch (error) {
        if (rights.some((right) => this.public.hasSome(right)) && error instanceof RelayError) {
          setOutcome(request, error); // #checkNames decides: public names need no token
          return;
        }
        throw this.#reported(error, reply);
      }
    };
  }

  /** What the request's token grants; undefined without one. Rejects with `RelayError`. */
  async #grant({ raw }: FastifyRequest): Promise<Grant | undefined> {
    const [sent, other] = [tokenInHeader(raw), tokenInQuery(raw)].filter((token) => token !== undefined);
    if (sent === undefined) return undefined;
    if (other !== undefined)
      throw unauthorized("Send the token once: in the header Authorization or as access_token, not as both.");
    if (sent.length > MAX_TOKEN_LENGTH)
      throw unauthorized(`The token is longer than ${MAX_TOKEN_LENGTH} characters.`);
    if (this.#isSecret(sent)) return EVERYTHING;
    if (this.#tokens) return await this.#tokens.grant(sent);
    throw unauthorized("The token is not the service's.");
  }

  /** Whether a token is one of the secrets with all rights; its time does not depend on where it differs. */
  #isSecret(token: string): boolean {
    if (this.#digests.length === 0) return false;
    const sent = digest(token);
    return this.#digests.some((secret) => timingSafeEqual(secret, sent));
  }

  #tokenMissing(): RelayError {
    return unauthorized(
      "This needs a token: send it in the header Authorization: Bearer <token>, or as access_token in the query.",
    );
  }

  /**
   * Once the request is known to be of the right form: whether it has one of the rights for its videos and
   * channels. Whose a video is, is asked only if no right names it.
   */
  #checkNames(rights: readonly Right[]): preHandlerAsyncHookHandler {
    const [first = "watch"] = rights;
    return async (request, reply) => {
      if (rights.some((right) => this.#othersThan(right, request).length === 0)) return;
      for (const right of rights) if (await this.allows(right, request, reply)) return;
      throw this.#reported(refusalOf(request) ?? this.#refusal(first, request), reply);
    };
  }

  /** The refusal of a request for other videos or channels than those that it has the right for. */
  #refusal(right: Right, request: FastifyRequest): RelayError {
    if (grantOf(request)) return forbidden(right);
    if (this.#tokens || this.#digests.length > 0) return this.#tokenMissing();
    return unauthorized("This service shows only certain videos or channels.");
  }

  /**
   * Whether all of these are of the channels: videos, or names of one. Rejects with `RelayError`, or if the
   * client has gone.
   */
  async #areOfChannels(
    names: readonly string[],
    channels: readonly string[],
    request: FastifyRequest,
    { raw }: FastifyReply,
  ): Promise<boolean> {
    const [others, videos] = [names.filter(isChannel), names.filter((name) => !isChannel(name))];
    if (channels.length === 0 || !others.every((name) => this.#videoChannels.isAmong(name, channels)))
      return false;
    const gone = clientGone(raw);
    const address = () => networkOf(request.ip);
    const asked = videos.map((name) => this.#videoChannels.isVideoOf(name, channels, address, gone));
    try {
      return (await Promise.all(asked)).every((isOfThem) => isOfThem);
    } catch (error) {
      if (error instanceof UpstreamError) throw ofFault(error, OF_ACCESS);
      return refuseUnavailable(error);
    }
  }

  /** Reports a refusal to the log, and sets the header that it asks for. Returns the error. */
  #reported(error: unknown, reply: FastifyReply): unknown {
    if (!(error instanceof RelayError)) return error;
    if (error.code === "UNAUTHORIZED") reply.header("www-authenticate", "Bearer");
    this.#telemetry.access.refused(error, grantOf(reply.request)?.terms?.subject);
    return error;
  }
}

function forbidden(right: Right): RelayError {
  const isNamed = right === "watch" || right === "feature";
  const some = isNamed ? `, or ${right}:NAME for this video or channel` : "";
  return new RelayError("FORBIDDEN", `The token does not give the right to this. It needs ${right}${some}.`);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
