/*
 * rows.js - a message as an element.
 *
 * It must not know the window around it: what depends on the row before (day heading,
 * grouping) is set by `decorate`, which can be called again when that row changes.
 */
import { h } from './dom.js';
import { dayKey, dayName, fullTimeOf, hueOf, initials, sizeOf, timeOf } from './format.js';

/** The arrow as a letter, not as an emoji. */
export const REPLY = '↩\ufe0e';
/** Rows of one author closer than this share one heading. */
const GROUP_MS = 5 * 60_000;
const QUIET_KINDS = new Set(['join', 'leave', 'system', 'notice']);
const TOKENS = /(https?:\/\/[^\s<>"']+[^\s<>"'.,:;!?)\]])|(@[\p{L}\p{N}_.-]*[\p{L}\p{N}_])/gu;
const ONLY_EMOJI = /^(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\u200d|\ufe0f|\s){1,16}$/u;

/**
 * @param message the row
 * @param actions {me, canReply, reply(message), replies(message), open(seq), find(seq) → row or undefined}
 */
export function renderRow(message, actions) {
  const item = h('li', { class: 'row', 'data-seq': message.seq });
  item.append(h('div', { class: 'day', hidden: true }), body(message, actions));
  return item;
}

/** Sets what depends on the row before; `before` is undefined for the first one. */
export function decorate(item, message, before) {
  const newDay = before === undefined || dayKey(before.at) !== dayKey(message.at);
  const day = item.firstElementChild;
  day.hidden = !newDay;
  if (newDay) day.textContent = dayName(message.at);
  const grouped = !newDay && !before.deleted && !message.deleted && before.by === message.by
    && !isQuiet(before) && !isQuiet(message) && message.reply_to === undefined
    && message.at - before.at < GROUP_MS;
  item.classList.toggle('grouped', grouped);
}

export const isQuiet = (message) => QUIET_KINDS.has(message.kind);

/** One line for lists and quotes. */
export function snippet(message) {
  if (message.deleted) return 'deleted message';
  if (message.text !== '') return message.text.replace(/\s+/gu, ' ').slice(0, 120);
  return message.attachments?.[0]?.name ?? '';
}

function body(message, actions) {
  if (message.deleted) return tombstone(message);
  if (isQuiet(message)) return quiet(message);
  const article = h('article', { class: message.by === actions.me ? 'message mine' : 'message',
    'aria-label': `${message.by}, ${timeOf(message.at)}` });
  article.append(
    avatar(message.by),
    h('header', {}, h('b', { dir: 'auto' }, message.by), stamp(message)),
    h('div', { class: 'content' },
      message.reply_to !== undefined && quote(message, actions),
      message.text !== '' && text(message, actions),
      message.attachments?.length > 0 && attachments(message.attachments),
      reactions(message.reactions)),
    tools(message, actions));
  return article;
}

function tombstone(message) {
  return h('article', { class: 'message gone' }, h('div', { class: 'content' },
    h('p', { class: 'text' }, 'This message was deleted.')), stamp(message));
}

function quiet(message) {
  const sign = { join: '→', leave: '←' }[message.kind] ?? '·';
  return h('article', { class: 'message quiet' },
    h('p', { class: 'text', dir: 'auto' }, h('span', { 'aria-hidden': 'true' }, `${sign} `),
      h('b', {}, message.by), ' ', message.text), stamp(message));
}

function avatar(name) {
  const mark = h('span', { class: 'avatar', 'aria-hidden': 'true' }, initials(name));
  mark.style.setProperty('--hue', hueOf(name));
  return mark;
}

function stamp(message) {
  return h('span', { class: 'stamp' },
    h('time', { datetime: new Date(message.at).toISOString(), title: fullTimeOf(message.at) }, timeOf(message.at)),
    h('span', { class: 'number' }, ` #${message.seq}`));
}

function quote(message, actions) {
  const seq = message.reply_to;
  const root = actions.find(seq);
  // Of a message that is not held only the number is shown: it may be hidden from this reader.
  const words = root === undefined || root.deleted ? null : h('span', { dir: 'auto' }, ` ${root.by}: ${snippet(root)}`);
  return h('button', { class: 'quote', type: 'button', 'aria-label': `Reply to message ${seq}: go there`,
    on: { click: () => actions.open(seq) } }, h('b', {}, `${REPLY} #${seq}`), words);
}

function text(message, actions) {
  const line = h('p', { class: ONLY_EMOJI.test(message.text) ? 'text big' : 'text', dir: 'auto' });
  let end = 0;
  for (const match of message.text.matchAll(TOKENS)) {
    line.append(message.text.slice(end, match.index));
    end = match.index + match[0].length;
    if (match[1] !== undefined) {
      line.append(h('a', { href: match[1], rel: 'noopener noreferrer nofollow', target: '_blank' }, match[1]));
    } else {
      const me = match[2].slice(1) === actions.me;
      line.append(h('span', { class: me ? 'mention me' : 'mention' }, match[2]));
    }
  }
  line.append(message.text.slice(end));
  if (message.edited_at !== undefined) {
    line.append(h('span', { class: 'edited', title: fullTimeOf(message.edited_at) }, ' (edited)'));
  }
  return line;
}

function attachments(list) {
  return h('div', { class: 'files' }, ...list.map((file) => {
    const image = file.type.startsWith('image/');
    const label = h('span', { class: 'label' }, h('b', { dir: 'auto' }, file.name),
      h('small', {}, `${sizeOf(file.size)} · ${file.type}`));
    const card = h('a', { class: image ? 'file picture' : 'file', rel: 'noopener noreferrer nofollow',
      target: '_blank', href: /^https?:\/\//.test(file.url) ? file.url : undefined },
    h('span', { class: 'thumb', 'aria-hidden': 'true' }, image ? '' : extension(file.name)), label);
    card.style.setProperty('--hue', hueOf(file.name));
    return card;
  }));
}

function extension(name) {
  return (/\.([^.]{1,4})$/.exec(name)?.[1] ?? 'file').toUpperCase();
}

function reactions(map) {
  const entries = Object.entries(map ?? {}).filter(([, { count }]) => count > 0);
  if (entries.length === 0) return null;
  return h('ul', { class: 'reactions', 'aria-label': 'Reactions' }, ...entries.map(([emoji, { count, mine }]) =>
    h('li', { class: mine ? 'mine' : undefined }, `${emoji} ${count}`)));
}

function tools(message, actions) {
  return h('div', { class: 'tools' },
    h('button', { type: 'button', title: 'Reply', 'aria-label': `Reply to message ${message.seq}`,
      on: { click: () => actions.reply(message) } }, REPLY),
    h('button', { type: 'button', title: 'Show replies', 'aria-label': `Show replies to message ${message.seq}`,
      on: { click: () => actions.replies(message) } }, '⤷'));
}
