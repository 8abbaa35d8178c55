/** Reproducible randomness: the same seed and name give the same sequence on every machine. */

export class Random {
  #state: number;

  /** `name` separates the sequences of one seed, so that two chats of a simulator differ. */
  constructor(seed: number, name = "") {
    this.#state = Math.trunc(seed) | 0;
    for (const unit of name) this.#state = Math.imul(this.#state ^ (unit.codePointAt(0) ?? 0), 0x01000193);
  }

  /** A uniform random number in [0, 1). */
  next(): number {
    return this.#word() / 2 ** 32;
  }

  /** A whole number in [0, bound). */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    const item = list[this.below(list.length)];
    if (item === undefined) throw new RangeError("nothing to pick from");
    return item;
  }

  bytes(count: number): Buffer {
    const bytes = Buffer.alloc(Math.ceil(count / 4) * 4);
    for (let offset = 0; offset < count; offset += 4) bytes.writeUInt32LE(this.#word(), offset);
    return bytes.subarray(0, count);
  }

  /** `count` random bytes as unpadded url-safe base64. */
  text(count: number): string {
    return this.bytes(count).toString("base64url");
  }

  /** 32 random bits as a non-negative integer. */
  #word(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }
}
