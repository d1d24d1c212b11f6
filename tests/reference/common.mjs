// common.mjs - what the reference parsers agree on: the limits of names, texts and lists, and
// the final order of a thread. Written from the format descriptions, not from the server.

const encoder = new TextEncoder();
const bytes = (s) => encoder.encode(s).length;

/** The longest start of a string that has at most `max` bytes of UTF-8. */
export function head(s, max) {
  if (bytes(s) <= max) return s;
  let out = '';
  let used = 0;
  for (const ch of s) {
    used += bytes(ch);
    if (used > max) break;
    out += ch;
  }
  return out;
}

/** A thread or user name as the wire takes it. */
export function name(s, max = 128) {
  return head(s, max).replace(/[\u0000-\u001f\u007f-\u009f]/g, '_') || 'unknown';
}

/** A text of at most `max` bytes; a longer one ends in a mark. */
export function cut(s, max = 1048576) {
  const mark = ' […cut]';
  return bytes(s) <= max ? s : head(s, max - bytes(mark)) + mark;
}

/** A string without lone surrogates. */
export const str = (v) => (typeof v === 'string' ? v.toWellFormed?.() ?? v : '');

export function attachment(a) {
  const out = {
    name: head(str(a.name), 2048),
    type: head(str(a.type), 2048),
    size: count(a.size) ?? 0,
    url: bytes(str(a.url)) > 2048 ? '' : str(a.url),
  };
  if (count(a.width) !== undefined) out.width = count(a.width);
  if (count(a.height) !== undefined) out.height = count(a.height);
  return out;
}

/** A number that a client can keep, without its fraction; else undefined. */
export function count(v) {
  if (typeof v !== 'number' || !(v >= 0) || v > Number.MAX_SAFE_INTEGER) return undefined;
  return Math.floor(v) + 0;
}

/** Users, each once, at most 64. */
export const mentions = (list) => [...new Set(list.filter((u) => u !== '').map((u) => name(u)))].slice(0, 64);

/** A message without its empty members; a deleted one without its content. */
export function tidy(m) {
  const out = { at: m.at, by: m.by, text: m.deleted ? '' : m.text, id: m.id };
  if (m.kind && m.kind !== 'message') out.kind = name(m.kind, 64);
  if (m.reply_to_id) out.reply_to_id = m.reply_to_id;
  if (m.edited_at !== undefined) out.edited_at = m.edited_at;
  if (m.deleted) out.deleted = true;
  else {
    for (const list of ['mentions', 'attachments', 'reactions']) if (m[list]?.length) out[list] = m[list];
  }
  return out;
}

/** Collects rows into threads and gives them in their final order. */
export class Threads {
  #rows = new Map();
  skipped = 0;

  add(thread, message) {
    const t = name(thread);
    if (!this.#rows.has(t)) this.#rows.set(t, new Map());
    const rows = this.#rows.get(t);
    const m = tidy(message);
    const before = rows.get(m.id);
    rows.set(m.id, before ? merge(before, m) : m);
  }

  finish() {
    const out = new Map();
    for (const [thread, rows] of this.#rows) {
      out.set(thread, [...rows.values()].sort((a, b) => a.at - b.at)); // stable
    }
    out.skipped = this.skipped;
    return out;
  }
}

/** The same id again: an update of text, attachments, mentions and deleted, of nothing else. */
export function merge(before, now) {
  if (before.deleted) return before;
  const kept = { ...before };
  if (now.deleted) return tidy({ ...kept, deleted: true });
  return tidy({ ...kept, text: now.text, mentions: now.mentions, attachments: now.attachments });
}
