/*
 * filters.js - the filter form to the contract's filter and back.
 */
import { h } from './dom.js';
import { startOfDay } from './format.js';

export class Filters {
  #form;
  #toggle;
  #count;

  /** @param changed called with the new filter */
  constructor(form, toggle, count, changed) {
    this.#form = form;
    this.#toggle = toggle;
    this.#count = count;
    const tell = () => {
      this.#mark();
      changed(this.value);
    };
    form.addEventListener('change', tell);
    form.addEventListener('reset', () => setTimeout(tell)); // the fields are empty only after it
    form.addEventListener('submit', (event) => event.preventDefault());
    toggle.addEventListener('click', () => this.show(form.hidden));
  }

  /** Only what is set: an empty form is {}. */
  get value() {
    const field = (name) => this.#form.elements[name].value;
    const filter = {};
    for (const name of ['by', 'kind', 'has']) if (field(name) !== '') filter[name] = [field(name)];
    const from = startOfDay(field('from'));
    const to = startOfDay(field('to'), 1); // the day itself is meant too, and `to` is exclusive
    if (from !== null) filter.from = from;
    if (to !== null) filter.to = to;
    const root = Number(field('thread_of'));
    if (Number.isInteger(root) && root > 0) filter.thread_of = root;
    return filter;
  }

  show(visible) {
    this.#form.hidden = !visible;
    this.#toggle.setAttribute('aria-expanded', String(visible));
  }

  /** Empties the form without telling: another thread is opened. */
  clear() {
    for (const element of this.#form.elements) if (element.name) element.value = '';
    this.#mark();
  }

  setReplies(seq) {
    this.#form.elements.thread_of.value = String(seq);
    this.show(true);
    this.#mark();
  }

  setMembers(users) {
    const select = this.#form.elements.by;
    const was = select.value;
    select.replaceChildren(h('option', { value: '' }, 'anyone'),
      ...users.map((user) => h('option', { value: user }, user)));
    select.value = users.includes(was) ? was : '';
    this.#mark();
  }

  #mark() {
    const count = Object.keys(this.value).length;
    this.#count.hidden = count === 0;
    this.#count.textContent = String(count);
  }
}
