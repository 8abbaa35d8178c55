/** Reproducible randomness: the same seed and name give the same sequence on every machine. */

/** Where bytes are drawn before they are copied or written as text. */
const DRAWN = Buffer.alloc(64);
const WORDS = new DataView(DRAWN.buffer, DRAWN.byteOffset);

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

  /** At most 64. */
  bytes(count: number): Buffer {
    this.#drawBytes(count);
    return Buffer.from(DRAWN.subarray(0, count));
  }

  /** `count` random bytes, at most 64, as unpadded url-safe base64. */
  text(count: number): string {
    this.#drawBytes(count);
    return DRAWN.toString("base64url", 0, count);
  }

  #drawBytes(count: number): void {
    for (let offset = 0; offset < count; offset += 4) WORDS.setUint32(offset, this.#word(), true);
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
