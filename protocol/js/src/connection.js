/*
 * connection.js - one WebSocket's life: open, requests paired with replies, closed once.
 *
 * It must not know tokens, sessions or reconnecting (client.js does). Invariant: every
 * request that was handed in is settled exactly once: by its reply, its timeout, or the
 * end of the connection.
 */
import { CLOSE, ScrollbackError, errorFromReply } from './codes.js';
import { decodeFrame, encodeFrame } from './codec.js';

/** @typedef {import('./types.d.ts').Socket} Socket */
/** @typedef {import('./types.d.ts').Clock} Clock */
/** @typedef {import('./types.d.ts').ServerEvent} ServerEvent */
/** @typedef {Record<string, unknown>} Fields */
/**
 * @typedef {object} Pending
 * @property {(reply: Fields) => void} resolve
 * @property {(error: ScrollbackError) => void} reject
 * @property {unknown} timer
 */
/**
 * @typedef {object} Wiring
 * @property {string} url
 * @property {import('./types.d.ts').SocketConstructor} WebSocket
 * @property {number} timeout
 * @property {Clock} clock
 * @property {(event: ServerEvent) => void} onEvent
 * @property {(error: ScrollbackError, code: number) => void} onClose called exactly once
 */

export const SUBPROTOCOL = 'scrollback.v1';
/** The server's bound before hello; hello's reply names the one after. */
const FRAME_BEFORE_HELLO = 16384;
/** Our own close code for a frame that makes no sense. */
const CLOSE_BAD_FRAME = 4000;
/** No close frame came. */
const CLOSE_ABNORMAL = 1006;

/** @type {Readonly<Record<number, string>>} */
const REASONS = {
  [CLOSE.NORMAL]: 'the server ended the connection',
  [CLOSE.DRAINING]: 'the server is restarting',
  [CLOSE.UNSUPPORTED]: 'the server takes binary messages only',
  [CLOSE.MALFORMED]: 'the server could not read a frame',
  [CLOSE.TOO_BIG]: 'a frame was over the server\'s limit',
  [CLOSE.NOT_AUTHENTICATED]: 'not authenticated',
  [CLOSE.TOKEN_EXPIRED]: 'the token expired',
  [CLOSE.HEARTBEAT_MISSED]: 'the connection was silent for too long',
  [CLOSE.REPLACED]: 'another connection took this session over',
  [CLOSE.TOO_SLOW]: 'replies were not read fast enough',
  [CLOSE.TOO_MANY]: 'too many requests or connections',
};

export class Connection {
  #wiring;
  #socket;
  /** @type {Map<number, Pending>} */
  #pending = new Map();
  #nextId = 1;
  #received = 0;
  #done = false;
  /** @type {unknown} */
  #openTimer;
  /** @type {(value: void) => void} */
  #resolveOpened = () => {};
  /** @type {(error: ScrollbackError) => void} */
  #rejectOpened = () => {};
  /** Bytes that the server takes in one frame. */
  maxFrame = FRAME_BEFORE_HELLO;

  /** @param {Wiring} wiring */
  constructor(wiring) {
    this.#wiring = wiring;
    /** @type {Promise<void>} */
    this.opened = new Promise((resolve, reject) => {
      this.#resolveOpened = resolve;
      this.#rejectOpened = reject;
    });
    this.opened.catch(() => {}); // a caller that only listens to onClose is fine
    this.#socket = new wiring.WebSocket(wiring.url, SUBPROTOCOL);
    this.#socket.binaryType = 'arraybuffer';
    this.#openTimer = wiring.clock.setTimeout(
      () => this.#drop('the server did not answer in time'), wiring.timeout);
    this.#listen();
  }

  #listen() {
    this.#socket.addEventListener('open', () => {
      this.#wiring.clock.clearTimeout(this.#openTimer);
      this.#resolveOpened();
    });
    this.#socket.addEventListener('message', (event) => this.#receive(event.data));
    this.#socket.addEventListener('close', (event) => {
      const code = event.code ?? CLOSE_ABNORMAL;
      const why = REASONS[code] ?? 'the connection was lost';
      this.#finish(new ScrollbackError(codeOfClose(code), why), code);
    });
    // 'close' always follows; without a listener the `ws` package would throw.
    this.#socket.addEventListener('error', () => {});
  }

  /**
   * Sends one request. Replies may overtake each other.
   * @param {string} op
   * @param {Fields} fields
   * @returns {Promise<Fields>}
   */
  request(op, fields) {
    if (this.#done) return Promise.reject(lost('the connection is closed'));
    const id = this.#nextId++;
    const bytes = encodeFrame({ ...fields, op, id });
    if (bytes.byteLength > this.maxFrame) {
      return Promise.reject(new ScrollbackError('too_large',
        `the request has ${bytes.byteLength} bytes, the server takes ${this.maxFrame}`));
    }
    return new Promise((resolve, reject) => {
      const before = this.#received;
      const timer = this.#wiring.clock.setTimeout(
        () => this.#expire(id, before), this.#wiring.timeout);
      this.#pending.set(id, { resolve, reject, timer });
      this.#socket.send(/** @type {Uint8Array<ArrayBuffer>} */ (bytes));
    });
  }

  /** @param {number} [code] */
  close(code = CLOSE.NORMAL) {
    if (this.#done) return;
    try {
      this.#socket.close(code);
    } catch {
      // some implementations throw while connecting; the socket is given up all the same
    }
    this.#finish(new ScrollbackError('closed', 'the client was closed'), code);
  }

  /** @param {unknown} data */
  #receive(data) {
    if (this.#done) return;
    this.#received++;
    let frame;
    try {
      if (!(data instanceof ArrayBuffer) && !(data instanceof Uint8Array)) {
        throw new TypeError('a text message');
      }
      frame = decodeFrame(data);
    } catch {
      this.#socket.close(CLOSE_BAD_FRAME);
      this.#finish(new ScrollbackError('bad_frame', 'the server sent a frame that cannot be read'),
        CLOSE_BAD_FRAME);
      return;
    }
    if (typeof frame.ev === 'string') {
      this.#wiring.onEvent(/** @type {ServerEvent} */ (frame));
    } else if (typeof frame.re === 'number') {
      this.#settle(frame.re, frame);
    }
    // `re: nil` answers a request without an id, which is never sent from here
  }

  /**
   * @param {number} id
   * @param {Fields} frame
   */
  #settle(id, frame) {
    const pending = this.#pending.get(id);
    if (pending === undefined) return; // its time ran out
    this.#pending.delete(id);
    this.#wiring.clock.clearTimeout(pending.timer);
    if (frame.error !== undefined) pending.reject(errorFromReply(frame.error));
    else pending.resolve(frame);
  }

  /**
   * Time is up. If nothing at all came since the request went out, the link is dead:
   * browsers tell so only much later.
   * @param {number} id
   * @param {number} receivedBefore
   */
  #expire(id, receivedBefore) {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    pending.reject(new ScrollbackError('timeout', 'no reply came in time'));
    if (this.#received === receivedBefore) this.#drop('the server has gone silent');
  }

  /** Gives the socket up without waiting for its closing handshake. @param {string} why */
  #drop(why) {
    if (this.#done) return;
    try {
      this.#socket.close();
    } catch {
      // as in close()
    }
    this.#finish(lost(why), CLOSE_ABNORMAL);
  }

  /**
   * @param {ScrollbackError} error
   * @param {number} code
   */
  #finish(error, code) {
    if (this.#done) return;
    this.#done = true;
    this.#wiring.clock.clearTimeout(this.#openTimer);
    this.#rejectOpened(error);
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const one of pending) {
      this.#wiring.clock.clearTimeout(one.timer);
      one.reject(error);
    }
    this.#wiring.onClose(error, code);
  }
}

/** @param {string} why */
function lost(why) {
  return new ScrollbackError('connection_lost', why);
}

/**
 * @param {number} code
 * @returns {import('./types.d.ts').ErrorCode}
 */
function codeOfClose(code) {
  if (code === CLOSE.NOT_AUTHENTICATED) return 'unauthenticated';
  if (code === CLOSE.MALFORMED || code === CLOSE.UNSUPPORTED) return 'bad_frame';
  if (code === CLOSE.TOO_BIG) return 'too_large';
  if (code === CLOSE.TOO_MANY) return 'rate_limited';
  if (code === CLOSE.REPLACED) return 'closed';
  return 'connection_lost';
}
