/*
 * outbox.js - posts on their way: sending, stored, or failed with what to do.
 *
 * Invariant: a text is posted under one nonce for as long as it is here, however often it
 * is tried, so it is stored at most once. It leaves when its row is on the page.
 */
import { ScrollbackError } from '../client/index.js';
import { h } from './dom.js';
import { errorText } from './format.js';

/** No reply came, or one that says that trying again is right. */
const RETRY_BY_ITSELF = new Set(['connection_lost', 'unknown_outcome']);

export class Outbox {
  #list;
  #hooks;
  #items = [];

  /** @param hooks {post(item) → Promise<Posted>, stored(item), shown(seq) → bool} */
  constructor(list, hooks) {
    this.#list = list;
    this.#hooks = hooks;
  }

  add(thread, text, options) {
    const item = { thread, text, options, nonce: crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`,
      state: 'sending', error: null, seq: null };
    this.#items.push(item);
    this.#send(item);
  }

  /** The connection is back: what was lost with it goes out again, in order. */
  resumed() {
    for (const item of this.#items) {
      if (item.state === 'failed' && RETRY_BY_ITSELF.has(item.error.code)) this.#send(item);
    }
  }

  /** Rows came: what is among them is no longer shown twice. */
  settle() {
    this.#items = this.#items.filter((item) => item.seq === null || !this.#hooks.shown(item));
    this.#draw();
  }

  /** Another user: what was not sent can't be sent by this one. */
  clear() {
    this.#items = [];
    this.#draw();
  }

  async #send(item) {
    item.state = 'sending';
    item.error = null;
    this.#draw();
    try {
      const { seq } = await this.#hooks.post(item);
      item.state = 'stored';
      item.seq = seq;
      this.#draw();
      await this.#hooks.stored(item);
      this.#remove(item);
    } catch (error) {
      item.state = 'failed';
      item.error = error instanceof ScrollbackError ? error : new ScrollbackError('internal', String(error));
      this.#draw();
    }
  }

  #remove(item) {
    this.#items = this.#items.filter((one) => one !== item);
    this.#draw();
  }

  #draw() {
    this.#list.replaceChildren(...this.#items.map((item) => this.#render(item)));
  }

  #render(item) {
    const state = { sending: 'sending…', stored: `stored as #${item.seq}`, failed: 'not sent' }[item.state];
    return h('li', { class: 'row', 'data-state': item.state, 'data-nonce': item.nonce },
      h('article', { class: 'message mine pending' },
        h('div', { class: 'content' },
          h('p', { class: 'text', dir: 'auto' }, item.text),
          h('p', { class: 'fate', role: 'status' }, item.error === null ? state : `${state}: ${errorText(item.error)} `,
            item.state === 'failed' && h('button', { type: 'button', on: { click: () => this.#send(item) } }, 'Try again'),
            item.state === 'failed' && h('button', { type: 'button', on: { click: () => this.#remove(item) } }, 'Discard')))));
  }
}
