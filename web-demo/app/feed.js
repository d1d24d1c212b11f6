/*
 * feed.js - one thread under one filter: what to load when, into the window, onto the page.
 *
 * Invariants: at most one load at a time; a reply that comes after the thread or filter
 * changed is dropped; the window never holds more than CAP rows.
 */
import { History, ScrollbackError } from '../client/index.js';
import { errorText, startOfDay, timeOf } from './format.js';
import { setEdge } from './timeline.js';

const PAGE = 50;
/** Rows on the page; past it they go from the far end. */
const CAP = 1000;
/** Loading begins so many screens before the end. */
const NEAR = 1;

export class Feed {
  #client = null;
  #session = 0;
  #history = new History();
  #timeline;
  #edges;
  #hooks;
  #thread = null;
  #filter = {};
  /** Counts changes of thread, filter and place: replies to an older one are dropped. */
  #turn = 0;
  #loading = null;
  /** {side, error} of the last load that failed: no load by scrolling until it is retried. */
  #failure = null;
  #checked = null;

  /**
   * @param timeline where rows are shown
   * @param edges {top, bottom} the strips around them
   * @param hooks {say(text), changed()}
   */
  constructor(timeline, edges, hooks) {
    this.#timeline = timeline;
    this.#edges = edges;
    this.#hooks = hooks;
  }

  get thread() { return this.#thread; }
  get atEnd() { return this.#history.atEnd; }
  find(seq) { return this.#history.rows.find((row) => row.seq === seq); }

  /** Another thread, filter or user: starts at the newest rows. */
  async open(client, thread, filter) {
    this.#client = client;
    this.#thread = thread;
    this.#filter = filter;
    await this.newest();
  }

  async newest() {
    this.#restart();
    await this.#load('older', () => this.#timeline.toBottom());
  }

  /** To the first row of a day, given as a date input's value. */
  async toDay(value) {
    const at = startOfDay(value);
    if (at === null) return;
    await this.#jump({ at }, (page) => {
      const first = page.messages.find((row) => row.at >= at);
      if (first !== undefined) this.#timeline.focus(first.seq, 'start');
      else this.#timeline.toBottom();
      if (page.messages.length === 0) this.#hooks.say('There is nothing here.');
      else if (!page.found) this.#hooks.say('Nothing on or after that day: these are the newest messages.');
    });
  }

  async toMessage(seq) {
    if (this.find(seq) !== undefined) this.#timeline.focus(seq);
    else await this.#jump({ seq }, () => this.#timeline.focus(seq));
  }

  /** Near an end of what is loaded? Then the next page, one at a time. */
  async scrolled() {
    const near = this.#timeline.height * NEAR;
    if (this.#thread === null || this.#loading !== null || this.#failure !== null) return;
    if (this.#timeline.above < near && !this.#history.atBeginning) await this.#load('older');
    else if (this.#timeline.below < near && !this.#history.atEnd) await this.#load('newer');
  }

  /** The connection is back: what failed for lack of it is tried again. */
  resumed() {
    if (this.#failure !== null) this.#load(this.#failure.side);
  }

  /** What came meanwhile: until nothing newer is there, or the window is full. */
  async checkNewer() {
    const turn = this.#turn;
    let count = 0;
    for (let pages = 0; pages * PAGE < CAP; pages++) {
      while (this.#loading !== null) await this.#loading;
      if (turn !== this.#turn) return count;
      const added = await this.#load('newer');
      if (added === null) return count;
      count += added.length;
      if (this.#history.atEnd) break;
    }
    this.#checked = Date.now();
    this.#edge();
    return count;
  }

  /* ---- inside ---- */

  #restart() {
    this.#turn++;
    this.#checked = null;
    this.#history.reset();
    this.#timeline.clear();
  }

  /** Runs the one load that may be under way, and looks again when it is done. */
  async #exclusive(run) {
    this.#failure = null;
    const work = run(this.#turn);
    this.#loading = work;
    this.#edge();
    const result = await work;
    if (this.#loading !== work) return result; // another turn has begun
    this.#loading = null;
    this.#edge();
    this.scrolled(); // a short page may leave the view near the end
    return result;
  }

  /** The rows that were added, null if none could be. */
  #load(side, done = () => {}) {
    return this.#exclusive(async (turn) => {
      try {
        const page = await this.#fetch(side);
        if (turn !== this.#turn) return null;
        const added = side === 'older' ? this.#history.addOlder(page) : this.#history.addNewer(page);
        if (side === 'older') this.#history.dropNewest(CAP);
        else this.#history.dropOldest(CAP);
        this.#timeline.show(this.#history.rows);
        done();
        this.#hooks.changed();
        return added;
      } catch (error) {
        if (turn === this.#turn) this.#failure = { side, error };
        return null;
      }
    });
  }

  async #fetch(side) {
    if (this.#session !== this.#client.session) {
      this.#session = this.#client.session;
      this.#history.forgetCursors();
    }
    try {
      return await this.#ask(side);
    } catch (error) {
      // A cursor ends with its session and its time: go on from the row that is held.
      if (!(error instanceof ScrollbackError) || error.code !== 'invalid_cursor') throw error;
      this.#history.forgetCursors();
      return this.#ask(side);
    }
  }

  #ask(side) {
    const fixed = { filter: this.#filter, limit: PAGE };
    return side === 'older'
      ? this.#client.loadOlder(this.#thread, { ...fixed, ...this.#history.olderStep() })
      : this.#client.loadNewer(this.#thread, { ...fixed, ...this.#history.newerStep() });
  }

  /** One window only: what was held is dropped when the new place is found, not before. */
  #jump(place, focus) {
    this.#turn++;
    return this.#exclusive(async (turn) => {
      try {
        const page = await this.#client.loadAround(this.#thread, { ...place, filter: this.#filter, limit: PAGE });
        if (turn !== this.#turn) return;
        if (place.seq !== undefined && !page.found) {
          this.#hooks.say(`Message #${place.seq} is not visible here, or outside the filter.`);
          return;
        }
        this.#session = this.#client.session;
        this.#checked = null;
        this.#history.replace(page);
        this.#timeline.clear();
        this.#timeline.show(this.#history.rows);
        focus(page);
        this.#hooks.changed();
      } catch (error) {
        if (turn === this.#turn) this.#hooks.say(errorText(error));
      }
    });
  }

  #edge() {
    const failed = (side) => this.#failure?.side === side;
    const retry = (side) => [errorText(this.#failure.error), { label: 'Try again', run: () => this.#load(side) }];
    setEdge(this.#edges.top, ...(failed('older') ? retry('older') : [this.#topText()]));
    setEdge(this.#edges.bottom, ...(failed('newer') ? retry('newer') : this.#bottom()));
  }

  #topText() {
    const filtered = Object.keys(this.#filter).length > 0;
    if (!this.#history.atBeginning) return this.#loading === null ? '' : 'Loading…';
    if (this.#history.rows.length === 0) {
      return filtered ? 'Nothing here matches the filter.' : 'Nothing has been said here yet.';
    }
    return filtered ? 'No older message matches the filter.' : 'The beginning of this thread';
  }

  #bottom() {
    if (!this.#history.atEnd) return [this.#loading === null || this.#history.rows.length === 0 ? '' : 'Loading…'];
    const text = this.#checked === null ? '' : `Nothing newer at ${timeOf(this.#checked)}`;
    return [text, { label: 'Check for newer messages', run: () => this.checkNewer() }];
  }
}
