/*
 * client.js - the operations of the contract, one method each.
 *
 * It must not know sockets or reconnecting: a Link carries each request to its reply.
 */
import { ScrollbackError } from './codes.js';
import { Link } from './link.js';
import { walkOlder } from './walk.js';

/** @typedef {import('./types.d.ts').ConnectOptions} ConnectOptions */

export class Client {
  #link;

  /** @param {ConnectOptions} options */
  constructor(options) {
    this.#link = new Link(options);
  }

  get state() { return this.#link.state; }
  get user() { return this.#link.hello.user; }
  get tenant() { return this.#link.hello.tenant; }
  get limits() { return this.#link.hello.limits; }
  get session() { return this.#link.session; }

  opened() {
    return this.#link.opened();
  }

  /**
   * @param {string} thread
   * @param {import('./types.d.ts').LoadOlderOptions} [options]
   */
  async loadOlder(thread, options = {}) {
    const reply = await this.request('load_older', { thread, ...options });
    return /** @type {import('./types.d.ts').OlderPage} */ (/** @type {unknown} */ (reply));
  }

  /**
   * @param {string} thread
   * @param {import('./types.d.ts').LoadNewerOptions} [options]
   */
  async loadNewer(thread, options = {}) {
    const reply = await this.request('load_newer', { thread, ...options });
    return /** @type {import('./types.d.ts').NewerPage} */ (/** @type {unknown} */ (reply));
  }

  /**
   * @param {string} thread
   * @param {import('./types.d.ts').LoadAroundOptions} options
   */
  async loadAround(thread, options) {
    const reply = await this.request('load_around', { thread, ...options });
    return /** @type {import('./types.d.ts').AroundPage} */ (/** @type {unknown} */ (reply));
  }

  /**
   * A failure carries `nonce`: posting again with it can not store the text twice.
   * @param {string} thread
   * @param {string} text
   * @param {import('./types.d.ts').PostOptions} [options]
   */
  async post(thread, text, options = {}) {
    const nonce = options.nonce ?? makeNonce(this.#link.clock);
    try {
      const reply = await this.request('post', { thread, text, ...options, nonce });
      return /** @type {import('./types.d.ts').Posted} */ (
        /** @type {unknown} */ ({ ...reply, nonce }));
    } catch (error) {
      throw error instanceof ScrollbackError ? error.withNonce(nonce) : error;
    }
  }

  /**
   * @param {string} thread
   * @param {import('./types.d.ts').CreateThreadOptions} [options]
   */
  async createThread(thread, options = {}) {
    const reply = await this.request('create_thread', { thread, ...options });
    return /** @type {{version: number}} */ (reply);
  }

  /**
   * @param {string} thread
   * @param {string} user
   * @param {import('./types.d.ts').Role | null} role
   */
  async setMember(thread, user, role) {
    const reply = await this.request('set_member', { thread, user, role });
    return /** @type {{version: number}} */ (reply);
  }

  /**
   * @param {string} thread
   * @param {{cursor?: import('./types.d.ts').Cursor, limit?: number}} [options]
   */
  async members(thread, options = {}) {
    const reply = await this.request('members', { thread, ...options });
    return /** @type {import('./types.d.ts').MembersPage} */ (/** @type {unknown} */ (reply));
  }

  /** @param {{cursor?: import('./types.d.ts').Cursor, limit?: number}} [options] */
  async threads(options = {}) {
    const reply = await this.request('threads', { ...options });
    return /** @type {import('./types.d.ts').ThreadsPage} */ (/** @type {unknown} */ (reply));
  }

  /**
   * @param {string} thread
   * @param {import('./types.d.ts').WalkOptions} [options]
   */
  walkOlder(thread, options = {}) {
    return walkOlder(this, thread, options);
  }

  /**
   * @param {string} op
   * @param {Record<string, unknown>} fields
   */
  request(op, fields) {
    return this.#link.request(op, fields);
  }

  close() {
    this.#link.close();
  }
}

/**
 * Opens a client and waits for it. If the first try fails, so does this; a client that
 * should keep trying from the start is made with `new Client(options)`.
 * @param {ConnectOptions} options
 */
export async function connect(options) {
  const client = new Client(options);
  try {
    await client.opened();
    return client;
  } catch (error) {
    client.close();
    throw error;
  }
}

/** A nonce need not be secret, only new. @param {import('./types.d.ts').Clock} clock */
function makeNonce(clock) {
  const part = () => Math.floor(clock.random() * 2 ** 32).toString(36).padStart(7, '0');
  return `${clock.now().toString(36)}-${part()}${part()}${part()}`;
}
