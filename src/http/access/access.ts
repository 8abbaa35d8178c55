/**
 * The check of rights: each route needs one (`route-rights.ts`), which is public or comes with a token.
 * Routes whose right nobody can have are not served.
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
import { clientGone } from "../client-gone.ts";
import { OF_ACCESS, ofFault } from "../fault-codes.ts";
import { networkOf } from "../streams/address-limit.ts";
import { askedNames } from "./asked-names.ts";
import {
  EVERYTHING,
  type Grant,
  grantOf,
  refusalOf,
  setOutcome,
  tokenInHeader,
  tokenInQuery,
  unauthorized,
} from "./grant.ts";
import { keySource } from "./keys.ts";
import { keepPrivate } from "./private-answers.ts";
import { rightOfRoute } from "./route-rights.ts";
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
  videoChannels: Pick<VideoChannels, "isOfOne" | "isOne">;
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

  /** Lets the routes that are added from now on be used only with their right. */
  guard(app: FastifyInstance): void {
    app.addHook("onRoute", (route) => {
      const right = rightOfRoute(route.url);
      if (right === "open") return;
      if (!this.serves(right)) throw new Error(`${route.url} is served, but nobody can have its right`);
      route.onRequest = [this.#check(right), ...[route.onRequest ?? []].flat()];
      route.onSend = [keepPrivate, ...[route.onSend ?? []].flat()];
      if (right === "watch" && !this.public.has("watch")) {
        route.preHandler = [this.#checkNames, ...[route.preHandler ?? []].flat()];
      }
    });
    app.addHook("onClose", () => this.close());
  }

  /** Before anything of the request is read but its head. */
  #check(right: Right) {
    return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      if (this.public.has(right)) return; // a token can give no more
      try {
        const grant = await this.#grant(request);
        if (grant) {
          setOutcome(request, grant);
          this.#telemetry.access.accepted(grant.terms?.subject);
        }
        if ((grant?.rights ?? this.public).hasSome(right)) return;
        throw grant ? forbidden(right) : this.#tokenMissing();
      } catch (error) {
        if (this.public.hasSome(right) && error instanceof RelayError) {
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

  /** Once the request is known to be of the right form: whether its videos and channels may be watched. */
  #checkNames: preHandlerAsyncHookHandler = async (request, reply) => {
    const rights = this.rightsOf(request);
    const others = askedNames(request).filter((name) => !rights.mayWatch(name));
    if (others.length === 0 || (await this.#areOfChannels(others, rights, request, reply))) return;
    throw this.#reported(refusalOf(request) ?? this.#refusal(request), reply);
  };

  /** The refusal of a request for other videos or channels than those that may be watched. */
  #refusal(request: FastifyRequest): RelayError {
    if (grantOf(request)) return forbidden("watch");
    if (this.#tokens || this.#digests.length > 0) return this.#tokenMissing();
    return unauthorized("This service shows only certain videos or channels.");
  }

  /** Whether all of these are channels that may be watched, or videos of them. Rejects with `RelayError`. */
  async #areOfChannels(
    names: readonly string[],
    { channels }: Rights,
    request: FastifyRequest,
    { raw }: FastifyReply,
  ): Promise<boolean> {
    const [others, videos] = [names.filter(isChannel), names.filter((name) => !isChannel(name))];
    if (channels.length === 0 || !others.every((name) => this.#videoChannels.isOne(name, channels)))
      return false;
    const gone = clientGone(raw);
    const address = () => networkOf(request.ip);
    const asked = videos.map((name) => this.#videoChannels.isOfOne(name, channels, address, gone));
    try {
      return (await Promise.all(asked)).every((isOne) => isOne);
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
  const some = right === "watch" ? ", or watch:NAME for this video or channel" : "";
  return new RelayError("FORBIDDEN", `The token does not give the right to this. It needs ${right}${some}.`);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
