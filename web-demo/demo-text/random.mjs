/*
 * random.mjs - chance that can be repeated (mulberry32).
 */
export class Random {
  #state;

  /** @param {number} seed  @param {string} name separate streams for separate things */
  constructor(seed, name = '') {
    let hash = 2166136261 ^ seed;
    for (const char of name) hash = Math.imul(hash ^ char.codePointAt(0), 16777619);
    this.#state = hash >>> 0;
  }

  /** 0 ≤ x < 1 */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low, high) {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  shuffled(list) {
    const copy = [...list];
    for (let i = copy.length - 1; i > 0; i--) {
      const j = this.between(0, i);
      [copy[i], copy[j]] = [copy[j], copy[i]];
    }
    return copy;
  }
}
