/*
 * history.js - one contiguous window of a thread's rows, as a page shows it.
 *
 * It must not know sockets: it says what to ask for next and takes what came.
 * Invariants: rows are ordered by (at, seq) without repeats, and no row of the thread (or
 * of what the filter lets through) lies between two neighbours that came from pages.
 */

/** @typedef {import('./types.d.ts').Message} Message */
/** @typedef {import('./types.d.ts').Cursor} Cursor */

/**
 * @param {{at: number, seq: number}} a
 * @param {{at: number, seq: number}} b
 */
export function compareRows(a, b) {
  return a.at - b.at || a.seq - b.seq;
}

export class History {
  /** @type {Message[]} */
  #rows = [];
  /** undefined: go on from the oldest row. @type {Cursor | undefined} */
  #older;
  /** @type {Cursor | undefined} */
  #newer;
  #atBeginning = false;
  #atEnd = false;

  get rows() { return this.#rows; }
  get atBeginning() { return this.#atBeginning; }
  get atEnd() { return this.#atEnd; }

  reset() {
    this.#rows = [];
    this.forgetCursors();
    this.#atBeginning = false;
    this.#atEnd = false;
  }

  /**
   * @param {import('./types.d.ts').OlderPage} page
   * @returns {Message[]} the rows that were not held, oldest first
   */
  addOlder(page) {
    if (this.#rows.length === 0) this.#atEnd = true; // a first page starts at the newest row
    const added = this.#merge(page.messages);
    this.#older = page.older ?? undefined;
    this.#atBeginning = page.older === null;
    return added;
  }

  /**
   * @param {import('./types.d.ts').NewerPage} page
   * @returns {Message[]}
   */
  addNewer(page) {
    const added = this.#merge(page.messages);
    this.#newer = page.newer ?? undefined;
    this.#atEnd = page.newer === null;
    return added;
  }

  /** @param {import('./types.d.ts').AroundPage} page */
  replace(page) {
    this.reset();
    this.#merge(page.messages);
    this.#older = page.older ?? undefined;
    this.#newer = page.newer ?? undefined;
    this.#atBeginning = page.older === null;
    this.#atEnd = page.newer === null;
  }

  /**
   * A changed row, by the contract's rule for events: its place lies in the window and
   * its version is above that row's.
   * @param {Message} message
   */
  upsert(message) {
    const at = this.#find(message);
    const held = this.#rows[at];
    if (held !== undefined && compareRows(held, message) === 0) {
      if (message.version <= held.version) return false;
      this.#rows[at] = message;
      return true;
    }
    const older = at === 0 && !this.#atBeginning;
    const newer = at === this.#rows.length && !this.#atEnd;
    if (older || newer) return false;
    this.#rows.splice(at, 0, message);
    return true;
  }

  /**
   * Bounds the window from its new end.
   * @param {number} keep
   * @returns {Message[]} what was dropped
   */
  dropNewest(keep) {
    if (this.#rows.length <= keep) return [];
    this.#newer = undefined;
    this.#atEnd = false;
    return this.#rows.splice(keep);
  }

  /**
   * @param {number} keep
   * @returns {Message[]}
   */
  dropOldest(keep) {
    if (this.#rows.length <= keep) return [];
    this.#older = undefined;
    this.#atBeginning = false;
    return this.#rows.splice(0, this.#rows.length - keep);
  }

  forgetCursors() {
    this.#older = undefined;
    this.#newer = undefined;
  }

  /** @returns {import('./types.d.ts').OlderStep | null} */
  olderStep() {
    if (this.#atBeginning) return null;
    if (this.#older !== undefined) return { cursor: this.#older };
    const oldest = this.#rows[0];
    return oldest === undefined ? {} : { before: oldest.seq };
  }

  /** Never null: more may have been posted. @returns {import('./types.d.ts').NewerStep} */
  newerStep() {
    if (this.#newer !== undefined) return { cursor: this.#newer };
    const newest = this.#rows[this.#rows.length - 1];
    return newest === undefined ? {} : { after: newest.seq };
  }

  /**
   * @param {readonly Message[]} incoming
   * @returns {Message[]}
   */
  #merge(incoming) {
    const added = [];
    for (const message of incoming) {
      const at = this.#find(message);
      const held = this.#rows[at];
      if (held !== undefined && compareRows(held, message) === 0) {
        if (message.version > held.version) this.#rows[at] = message;
      } else {
        this.#rows.splice(at, 0, message);
        added.push(message);
      }
    }
    return added;
  }

  /** The first index whose row is not before `message`. @param {Message} message */
  #find(message) {
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const row = /** @type {Message} */ (this.#rows[middle]);
      if (compareRows(row, message) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
