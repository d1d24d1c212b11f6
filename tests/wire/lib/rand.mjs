// Seeded randomness for tests: the same seed, the same choices. Seeds are printed.

export class Rand {
  constructor(seed) {
    this.seed = seed >>> 0;
    this.state = this.seed;
  }

  // 32 random bits.
  bits() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let x = this.state;
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return (x ^ (x >>> 14)) >>> 0;
  }

  // 0 .. n - 1
  below(n) {
    return Math.floor((this.bits() / 2 ** 32) * n);
  }

  between(low, high) {
    return low + this.below(high - low + 1);
  }

  chance(p) {
    return this.bits() / 2 ** 32 < p;
  }

  pick(items) {
    return items[this.below(items.length)];
  }
}

export function newSeed() {
  const given = process.env.SB_SEED;
  return given === undefined ? (Date.now() ^ (process.pid << 16)) >>> 0 : Number(given) >>> 0;
}
