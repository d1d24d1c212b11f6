/*
 * link.js - a connection that comes back by itself: hello, backoff, renewal of the token.
 *
 * It must not know the operations (client.js does).
 * A dropped connection fails what was pending and is replaced after a backoff; the new
 * one is a new session, so cursors of the old one are void (`session` counts them).
 * Invariant: there is at most one connection, and after `close` or a final refusal there
 * is none and every request fails at once.
 */
import { CLOSE, ScrollbackError } from './codes.js';
import { Connection } from './connection.js';
import { renewIn } from './token.js';

/** @typedef {import('./types.d.ts').ConnectOptions} ConnectOptions */
/** @typedef {import('./types.d.ts').Clock} Clock */
/** @typedef {import('./types.d.ts').State} State */
/** @typedef {Record<string, unknown>} Fields */
/** @typedef {{user: string, tenant: string, limits: import('./types.d.ts').Limits}} Hello */
/**
 * @typedef {object} Waiter
 * @property {(connection: Connection) => void} resolve
 * @property {(error: ScrollbackError) => void} reject
 * @property {boolean} oneTry also fails when this try fails
 * @property {unknown} timer
 */

const DEFAULT_TIMEOUT_MS = 20000;
const DEFAULT_BACKOFF = { first: 500, most: 30000 };
/** A connection that held so long proves the server well: the backoff starts over. */
const STEADY_MS = 10000;
/** setTimeout's own limit. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** @type {Clock} */
const REAL_CLOCK = {
  now: () => Date.now(),
  setTimeout: (run, ms) => setTimeout(run, ms),
  clearTimeout: (timer) => clearTimeout(/** @type {number} */ (timer)),
  random: () => Math.random(),
};

export class Link {
  #options;
  #clock;
  #timeout;
  /** @type {State} */
  #state = 'connecting';
  /** @type {Connection | null} */
  #connection = null;
  /** @type {Set<Waiter>} */
  #waiters = new Set();
  /** @type {unknown} */
  #retryTimer;
  /** @type {unknown} */
  #renewTimer;
  #attempt = 0;
  #openedAt = 0;
  #drainMs = 0;
  /** @type {ScrollbackError | null} */
  #ended = null;
  /** @type {Hello} */
  #hello = { user: '', tenant: '', limits: { page: 200, page_bytes: 0, frame: 0, text: 0 } };
  #session = 0;

  /** @param {ConnectOptions} options */
  constructor(options) {
    this.#options = options;
    this.#clock = options.clock ?? REAL_CLOCK;
    this.#timeout = options.timeout ?? DEFAULT_TIMEOUT_MS;
    this.#open();
  }

  get state() { return this.#state; }
  get hello() { return this.#hello; }
  get session() { return this.#session; }

  get clock() { return this.#clock; }

  /** Resolves once open; fails when the present try fails. */
  async opened() {
    await this.#ready(true);
  }

  /**
   * Waits for the connection if there is none, then sends.
   * @param {string} op
   * @param {Fields} fields
   * @returns {Promise<Fields>}
   */
  async request(op, fields) {
    const connection = this.#connection !== null && this.#state === 'open'
      ? this.#connection : await this.#ready(false);
    return connection.request(op, fields);
  }

  close() {
    this.#end(new ScrollbackError('closed', 'the client was closed'));
  }

  /* ---- opening, dropping, coming back ---- */

  async #open() {
    this.#setState('connecting');
    /** @type {Connection | null} */
    let connection = null;
    try {
      const token = await this.#token();
      if (this.#ended !== null) return;
      connection = this.#connect();
      await connection.opened;
      const hello = await connection.request('hello', { token });
      this.#greeted(connection, hello, token);
    } catch (error) {
      if (this.#ended !== null) return;
      if (connection !== null && connection === this.#connection) {
        this.#connection = null; // so that its onClose, if still to come, is ignored
        connection.close();
        this.#dropped(asError(error), refuses(error) ? CLOSE.NOT_AUTHENTICATED : 0);
      } else if (connection === null) {
        this.#dropped(asError(error), 0);
      } // else onClose has told already
    }
  }

  async #token() {
    const { token } = this.#options;
    return typeof token === 'string' ? token : token();
  }

  #connect() {
    const Socket = this.#options.WebSocket
      ?? /** @type {import('./types.d.ts').SocketConstructor | undefined} */ (
        /** @type {unknown} */ (globalThis.WebSocket));
    if (Socket === undefined) {
      throw new ScrollbackError('bad_request', 'there is no WebSocket here: pass one in the options');
    }
    /** @type {Connection} */
    const connection = new Connection({
      url: this.#options.url,
      WebSocket: Socket,
      timeout: this.#timeout,
      clock: this.#clock,
      onEvent: (event) => this.#event(event),
      onClose: (error, code) => {
        if (this.#connection !== connection) return;
        this.#connection = null;
        this.#dropped(error, code);
      },
    });
    this.#connection = connection;
    return connection;
  }

  /**
   * @param {Connection} connection
   * @param {Fields} hello
   * @param {string} token
   */
  #greeted(connection, hello, token) {
    if (this.#connection !== connection) return; // dropped while the reply was under way
    this.#hello = /** @type {Hello} */ (/** @type {unknown} */ (hello));
    connection.maxFrame = this.#hello.limits.frame;
    if (hello.resumed !== true) this.#session++;
    this.#openedAt = this.#clock.now();
    this.#drainMs = 0;
    this.#renewLater(connection, token);
    this.#setState('open');
    for (const waiter of this.#takeWaiters(() => true)) waiter.resolve(connection);
  }

  /**
   * @param {ScrollbackError} error
   * @param {number} code the close code, 0: there was no connection
   */
  #dropped(error, code) {
    this.#clock.clearTimeout(this.#renewTimer);
    if (this.#final(error, code)) {
      this.#end(error);
      return;
    }
    if (this.#state === 'open' && this.#clock.now() - this.#openedAt >= STEADY_MS) this.#attempt = 0;
    const { first, most } = this.#options.backoff ?? DEFAULT_BACKOFF;
    const ceiling = Math.min(most, first * 2 ** Math.min(this.#attempt, 30));
    this.#attempt++;
    // Half of it is chance, so that the clients of a restarted server don't come back at once.
    const wait = Math.max(this.#drainMs, error.retryMs ?? 0)
      + ceiling / 2 + (ceiling / 2) * this.#clock.random();
    this.#retryTimer = this.#clock.setTimeout(() => { this.#open(); }, wait);
    this.#setState('waiting', error, wait);
    for (const waiter of this.#takeWaiters((one) => one.oneTry)) waiter.reject(error);
  }

  /**
   * @param {ScrollbackError} error
   * @param {number} code
   */
  #final(error, code) {
    if (this.#options.reconnect === false) return true;
    if (error.code === 'bad_frame' || error.code === 'bad_request') return true;
    if (code === CLOSE.TOKEN_EXPIRED) return typeof this.#options.token === 'string';
    return code === CLOSE.NOT_AUTHENTICATED || code === CLOSE.REPLACED;
  }

  /** @param {ScrollbackError} error */
  #end(error) {
    if (this.#ended !== null) return;
    this.#ended = error;
    this.#clock.clearTimeout(this.#retryTimer);
    this.#clock.clearTimeout(this.#renewTimer);
    const connection = this.#connection;
    this.#connection = null;
    connection?.close();
    this.#setState('closed', error);
    for (const waiter of this.#takeWaiters(() => true)) waiter.reject(error);
  }

  /** @param {import('./types.d.ts').ServerEvent} event */
  #event(event) {
    if (event.ev === 'draining' && typeof event.reconnect_ms === 'number') {
      this.#drainMs = event.reconnect_ms;
    }
    tell(this.#options.onEvent, event);
  }

  /**
   * A token from a function is renewed on the open connection; its session goes on.
   * @param {Connection} connection
   * @param {string} token
   */
  #renewLater(connection, token) {
    if (typeof this.#options.token === 'string') return;
    const wait = renewIn(token, this.#clock.now());
    if (wait === null) return;
    this.#renewTimer = this.#clock.setTimeout(async () => {
      if (wait > LONGEST_TIMER_MS) {
        this.#renewLater(connection, token);
        return;
      }
      try {
        const next = await this.#token();
        if (this.#connection !== connection) return;
        await connection.request('hello', { token: next });
        if (this.#connection === connection) this.#renewLater(connection, next);
      } catch {
        // The server closes the connection when the old token ends; coming back asks again.
      }
    }, Math.min(wait, LONGEST_TIMER_MS));
  }

  /* ---- waiting for it ---- */

  /**
   * @param {boolean} oneTry
   * @returns {Promise<Connection>}
   */
  #ready(oneTry) {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    if (this.#connection !== null && this.#state === 'open') return Promise.resolve(this.#connection);
    return new Promise((resolve, reject) => {
      /** @type {Waiter} */
      const waiter = { resolve, reject, oneTry, timer: undefined };
      if (!oneTry) {
        waiter.timer = this.#clock.setTimeout(() => {
          this.#waiters.delete(waiter);
          reject(new ScrollbackError('timeout', 'there was no connection in time'));
        }, this.#timeout);
      }
      this.#waiters.add(waiter);
    });
  }

  /** @param {(waiter: Waiter) => boolean} which */
  #takeWaiters(which) {
    const taken = [...this.#waiters].filter(which);
    for (const waiter of taken) {
      this.#waiters.delete(waiter);
      this.#clock.clearTimeout(waiter.timer);
    }
    return taken;
  }

  /**
   * @param {State} state
   * @param {ScrollbackError} [error]
   * @param {number} [retryMs]
   */
  #setState(state, error, retryMs) {
    this.#state = state;
    tell(this.#options.onState, { state, error, retryMs });
  }
}

/** The server's refusal of a token; it closes right after. @param {unknown} error */
function refuses(error) {
  return error instanceof ScrollbackError && error.code === 'unauthenticated';
}

/** @param {unknown} error */
function asError(error) {
  if (error instanceof ScrollbackError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new ScrollbackError('connection_lost', `no connection: ${why}`);
}

/**
 * Calls a listener. What it throws is reported as uncaught, and does not disturb the link.
 * @template T
 * @param {((value: T) => void) | undefined} listener
 * @param {T} value
 */
function tell(listener, value) {
  try {
    listener?.(value);
  } catch (error) {
    queueMicrotask(() => { throw error; });
  }
}
