/*
 * sidebar.js - the list of threads with their newest message, and who one is.
 */
import { h } from './dom.js';
import { hueOf, initials, shortWhen } from './format.js';
import { snippet } from './rows.js';

/** All threads of the user, newest first. Pages until the nil cursor. */
export async function loadThreads(client) {
  const all = [];
  let cursor;
  do {
    const page = await client.threads({ cursor, limit: 100 });
    all.push(...page.threads);
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
  return all.sort((a, b) => (b.newest?.at ?? 0) - (a.newest?.at ?? 0) || (a.thread < b.thread ? -1 : 1));
}

export function renderThreads(list, threads, current, open) {
  list.replaceChildren(...threads.map((info) => {
    const name = info.title ?? info.thread;
    const badge = h('span', { class: 'badge', 'aria-hidden': 'true' }, initials(name));
    badge.style.setProperty('--hue', hueOf(info.thread));
    const newest = info.newest;
    return h('li', {}, h('button', { type: 'button', 'data-thread': info.thread,
      'aria-current': info.thread === current ? 'true' : undefined, on: { click: () => open(info.thread) } },
    badge,
    h('span', { class: 'name', dir: 'auto' }, name),
    h('time', {}, newest === undefined ? '' : shortWhen(newest.at)),
    h('span', { class: 'latest', dir: 'auto' }, newest === undefined ? 'nothing yet' : latest(newest))));
  }));
}

function latest(message) {
  return message.deleted ? 'deleted message' : `${message.by}: ${snippet(message)}`;
}

export function renderUsers(element, users, current, choose) {
  element.replaceChildren(...users.map((user) => {
    const button = h('button', { type: 'button', 'data-user': user, 'aria-pressed': String(user === current),
      on: { click: () => choose(user) } }, user);
    button.style.setProperty('--hue', hueOf(user));
    return button;
  }));
}
