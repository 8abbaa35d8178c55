/**
 * Counts a connection against the limits of its address and of its token's subject, and ends it when the
 * token expires, without an `end` event, so that its client comes back with a newer one.
 */
import type { FastifyRequest } from "fastify";
import { Counts } from "../../base/key-counts.ts";
import { atCapacity } from "../../protocol/capacity.ts";
import type { AddressLimit } from "./address-limit.ts";
import type { Expiries } from "./expiries.ts";
import { grantOf, type TokenTerms } from "./grant.ts";

interface Endable {
  end(): void;
}

/** The connections of each subject, in all processes of a service. */
export interface Subjects {
  /** Takes one of the `most` places of a subject. Returns what gives it back; undefined if none is free. */
  take(subject: string, most: number): GiveBack | undefined | Promise<GiveBack | undefined>;
}

/** Call it once. */
type GiveBack = () => void;

export class SubjectCounts implements Subjects {
  readonly #taken = new Counts<string>();

  take(subject: string, most: number): GiveBack | undefined {
    return this.#taken.of(subject) < most ? this.#taken.take(subject) : undefined;
  }
}

export class ViewerPlaces {
  readonly #addresses: Pick<AddressLimit, "take">;
  readonly #expiries: Expiries;
  readonly #subjects: Subjects;

  constructor(
    addresses: Pick<AddressLimit, "take">,
    expiries: Expiries,
    subjects: Subjects = new SubjectCounts(),
  ) {
    this.#addresses = addresses;
    this.#expiries = expiries;
    this.#subjects = subjects;
  }

  /**
   * Takes the places of a connection: `count` of its address, and one of its subject. They are given back at
   * once if its client is `gone`, even while its request still waits for the store. Rejects with `RelayError`
   * CAPACITY if there is none, and with the reason of `gone`.
   */
  async take(request: FastifyRequest, gone: AbortSignal, count = 1): Promise<ViewerPlace> {
    const place = await this.#take(request, count);
    if (gone.aborted) place.giveBack();
    gone.throwIfAborted();
    gone.addEventListener("abort", place.giveBack, { once: true });
    return place;
  }

  /** Takes places for `use` as `take` does, and gives them back if `use` rejects. Rejects as both do. */
  async takeFor<T>(
    request: FastifyRequest,
    gone: AbortSignal,
    use: (place: ViewerPlace) => T | Promise<T>,
    count?: number,
  ): Promise<T> {
    const place = await this.take(request, gone, count);
    try {
      return await use(place);
    } catch (error) {
      place.giveBack();
      throw error;
    }
  }

  async #take(request: FastifyRequest, count: number): Promise<ViewerPlace> {
    const giveBack = this.#addresses.take(request, count);
    const terms = grantOf(request)?.terms;
    if (!terms) return { giveBack, keep: (connection) => connection };
    try {
      return new TokenPlace(this.#expiries, terms.expiresAt, giveBack, await this.#takeOfSubject(terms));
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  async #takeOfSubject({ subject, viewers }: TokenTerms): Promise<GiveBack> {
    if (subject === undefined || viewers === undefined) return () => {};
    const giveBack = await this.#subjects.take(subject, viewers);
    if (!giveBack) throw atCapacity("subject");
    return giveBack;
  }
}

/** The places of one connection. */
export interface ViewerPlace {
  /** Gives them back, at most once. */
  readonly giveBack: () => void;
  /** The connection that has the places, which ends with its token. */
  keep<C extends Endable>(connection: C): C;
}

class TokenPlace implements ViewerPlace {
  readonly #expiries: Expiries;
  readonly #expiresAt: number;
  #release: (() => void)[];

  constructor(expiries: Expiries, expiresAt: number, ...release: (() => void)[]) {
    this.#expiries = expiries;
    this.#expiresAt = expiresAt;
    this.#release = release;
  }

  readonly giveBack = (): void => {
    const release = this.#release;
    this.#release = [];
    for (const each of release) each();
  };

  keep<C extends Endable>(connection: C): C {
    if (Number.isFinite(this.#expiresAt)) this.#release.push(this.#expiries.add(connection, this.#expiresAt));
    return connection;
  }
}
