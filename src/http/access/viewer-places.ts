/**
 * The places of viewers: of their address, and of their token's subject. A connection that a token has opened
 * ends when the token expires, without an end event, so that its client comes back with a newer one.
 */
import type { FastifyRequest } from "fastify";
import { atCapacity } from "../../protocol/capacity.ts";
import type { AddressLimit } from "../streams/address-limit.ts";
import type { Expiries } from "./expiries.ts";
import { grantOf, type TokenTerms } from "./grant.ts";

interface Endable {
  end(): void;
}

export class ViewerPlaces {
  readonly #addresses: Pick<AddressLimit, "take">;
  readonly #expiries: Expiries;
  readonly #subjects = new Map<string, number>();

  constructor(addresses: Pick<AddressLimit, "take">, expiries: Expiries) {
    this.#addresses = addresses;
    this.#expiries = expiries;
  }

  /**
   * Takes the places of a connection: `count` of its address, and one of its subject. They are given back at
   * once if its client is `gone`, even while its request still waits for the store. Throws `RelayError`
   * CAPACITY if there is none.
   */
  take(request: FastifyRequest, gone: AbortSignal, count = 1): Place {
    const place = this.#take(request, count);
    gone.addEventListener("abort", place.giveBack, { once: true });
    return place;
  }

  #take(request: FastifyRequest, count: number): Place {
    const giveBack = this.#addresses.take(request, count);
    const terms = grantOf(request)?.terms;
    if (!terms) return { giveBack, keep: (connection) => connection };
    try {
      return new TokenPlace(this.#expiries, terms.expiresAt, giveBack, this.#takeOfSubject(terms));
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  #takeOfSubject({ subject, viewers }: TokenTerms): () => void {
    if (subject === undefined || viewers === undefined) return () => {};
    const count = this.#subjects.get(subject) ?? 0;
    if (count >= viewers) throw atCapacity("subject");
    this.#subjects.set(subject, count + 1);
    return () => {
      const left = (this.#subjects.get(subject) ?? 1) - 1;
      if (left > 0) this.#subjects.set(subject, left);
      else this.#subjects.delete(subject);
    };
  }
}

/** The places of one connection. */
export interface Place {
  /** Gives them back, at most once. */
  readonly giveBack: () => void;
  /** The connection that has the places, which ends with its token. */
  keep<C extends Endable>(connection: C): C;
}

class TokenPlace implements Place {
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
