// jsonl.mjs - reads JSON Lines exports: the reference that the server's reader is held against.
//
// {thread, at, by, text, id, kind?, edited_at?, deleted?, reply_to_id?, mentions?,
// attachments?, reactions?}

import { readFileSync } from 'node:fs';
import { Threads, attachment, count, cut, mentions, name, str } from './common.mjs';

const list = (v) => (Array.isArray(v) ? v : []);
// A number that is an id counts as it is written; small ones are written as they print.
const identity = (v) => (typeof v === 'number' ? String(v) : str(v));

function reactions(v) {
  if (v === null || typeof v !== 'object') return [];
  const entries = Array.isArray(v) ? v.map((r) => [r?.emoji, r?.users]) : Object.entries(v);
  const pairs = [];
  for (const [emoji, users] of entries) {
    for (const u of list(users)) if (str(emoji) && str(u)) pairs.push([name(str(emoji), 64), name(str(u))]);
  }
  return pairs.slice(0, 4096);
}

export function parse(path, options = {}) {
  const threads = new Threads();
  const text = new TextDecoder('utf-8').decode(readFileSync(path)); // drops a byte order mark
  for (const raw of text.split('\n')) {
    if (raw.trim() === '') continue;
    let m;
    try {
      m = JSON.parse(raw);
    } catch {
      threads.skipped++;
      continue;
    }
    const thread = options.thread ?? str(m?.thread);
    const id = identity(m?.id);
    const bad =
      m === null || typeof m !== 'object' || Array.isArray(m) || id === '' || Buffer.byteLength(id) > 512 ||
      count(m.at) === undefined || typeof m.by !== 'string' || thread === '' ||
      !(m.text === undefined || m.text === null || typeof m.text === 'string');
    if (bad) {
      threads.skipped++;
      continue;
    }
    threads.add(thread, {
      id,
      at: count(m.at),
      by: name(str(m.by)),
      text: cut(str(m.text), options.textMax),
      kind: str(m.kind),
      edited_at: count(m.edited_at),
      deleted: m.deleted === true,
      reply_to_id: identity(m.reply_to_id),
      mentions: mentions(list(m.mentions).map(str)),
      attachments: list(m.attachments).filter((a) => a && typeof a === 'object' && !Array.isArray(a)).map(attachment).slice(0, 16),
      reactions: reactions(m.reactions),
    });
  }
  return threads.finish();
}
