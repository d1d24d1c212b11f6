/*
 * timeline.js - the rows in the scroller, and the promise that the view does not jump.
 *
 * It must not know where rows come from. Invariant: after `show`, the row that was at the
 * top of the view is where it was, to the pixel, whatever was put in or taken out around it.
 */
import { h } from './dom.js';
import { decorate, renderRow } from './rows.js';

export class Timeline {
  #scroller;
  #list;
  #actions;
  /** seq → {item, message, before} */
  #held = new Map();

  constructor(scroller, list, actions) {
    this.#scroller = scroller;
    this.#list = list;
    this.#actions = actions;
  }

  /** px between the view and the first and last row. */
  get above() { return this.#scroller.scrollTop; }
  get below() {
    return this.#scroller.scrollHeight - this.#scroller.clientHeight - this.#scroller.scrollTop;
  }
  get height() { return this.#scroller.clientHeight; }

  clear() {
    this.#held.clear();
    this.#list.replaceChildren();
  }

  /** Makes the list hold exactly `rows`; what is in view stays put. */
  show(rows) {
    const anchor = this.#anchor(rows);
    this.#reconcile(rows);
    if (anchor !== null) this.#scroller.scrollTop += topOf(anchor.item.lastElementChild) - anchor.top;
  }

  toBottom() {
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  /** Scrolls to a row and marks it for a moment. */
  focus(seq, where = 'center') {
    const item = this.#held.get(seq)?.item;
    if (item === undefined) return;
    item.scrollIntoView({ block: where });
    item.classList.remove('flash');
    void item.offsetWidth; // restarts the animation
    item.classList.add('flash');
  }

  /** The first row in view that will still be there. */
  #anchor(rows) {
    const stays = new Set(rows.map((row) => row.seq));
    const edge = this.#scroller.getBoundingClientRect().top;
    for (const item of this.#firstInView(edge)) {
      const held = this.#held.get(Number(item.dataset.seq));
      if (held !== undefined && stays.has(held.message.seq)) {
        // The article, not the item: a day heading may come or go above it.
        return { item, top: topOf(item.lastElementChild) };
      }
    }
    return null;
  }

  *#firstInView(edge) {
    const items = this.#list.children;
    let low = 0;
    let high = items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (items[middle].getBoundingClientRect().bottom <= edge) low = middle + 1;
      else high = middle;
    }
    for (let i = low; i < items.length; i++) yield items[i];
  }

  #reconcile(rows) {
    const wanted = new Map(rows.map((row) => [row.seq, row]));
    for (const [seq, { item, message }] of this.#held) {
      if (wanted.get(seq)?.version === message.version) continue;
      if (!wanted.has(seq)) {
        item.remove();
        this.#held.delete(seq);
      } else { // its text changed: a new body in the same place
        const fresh = renderRow(wanted.get(seq), this.#actions);
        item.lastElementChild.replaceWith(fresh.lastElementChild);
        this.#held.set(seq, { item, message: wanted.get(seq), before: null });
      }
    }
    let next = this.#list.firstElementChild;
    let before;
    for (const row of rows) {
      let held = this.#held.get(row.seq);
      if (held === undefined) {
        held = { item: renderRow(row, this.#actions), message: row, before: null };
        this.#held.set(row.seq, held);
      }
      if (held.item === next) next = next.nextElementSibling;
      else this.#list.insertBefore(held.item, next);
      if (held.before !== before) decorate(held.item, row, before);
      held.before = before;
      before = row;
    }
  }
}

/** The strip above or below the rows: where we are, or what can be done. */
export function setEdge(element, text, action) {
  element.replaceChildren(...(text === '' ? [] : [h('p', {}, text)]),
    ...(action === undefined ? [] : [h('button', { type: 'button', on: { click: action.run } }, action.label)]));
}

const topOf = (element) => element.getBoundingClientRect().top;
