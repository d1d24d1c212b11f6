/*
 * composer.js - writing a message: Enter sends, Shift+Enter breaks the line.
 */
import { REPLY, snippet } from './rows.js';

export class Composer {
  #form;
  #text;
  #banner;
  #replyTo = null;

  /** @param send called with (text, options) */
  constructor({ form, text, banner, bannerText, cancel }, send) {
    this.#form = form;
    this.#text = text;
    this.#banner = { box: banner, text: bannerText };
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const value = text.value.trim();
      if (value === '') return;
      send(value, this.#replyTo === null ? {} : { reply_to: this.#replyTo });
      text.value = '';
      this.replyTo(null);
      this.#grow();
    });
    text.addEventListener('keydown', (event) => {
      // Enter that ends an input method's composition is not ours.
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        form.requestSubmit();
      } else if (event.key === 'Escape') {
        this.replyTo(null);
      }
    });
    text.addEventListener('input', () => this.#grow());
    cancel.addEventListener('click', () => this.replyTo(null));
  }

  /** A message to answer, or null. */
  replyTo(message) {
    this.#replyTo = message?.seq ?? null;
    this.#banner.box.hidden = message === null;
    if (message === null) return;
    this.#banner.text.textContent = `${REPLY} #${message.seq} ${message.by}: ${snippet(message)}`;
    this.#text.focus();
  }

  place(title) {
    this.#text.placeholder = `Write to ${title}`;
  }

  #grow() {
    this.#text.rows = Math.min(8, Math.max(1, this.#text.value.split('\n').length));
  }
}
