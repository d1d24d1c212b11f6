// slack.mjs - reads an unpacked Slack export: the reference that the server's reader is held
// against. One folder per channel, one array of messages per day, names in users.json.

import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Threads, attachment, cut, mentions, name, str } from './common.mjs';

const KINDS = {
  join: 'join', leave: 'leave', topic: 'topic', purpose: 'purpose', name: 'rename',
  archive: 'archive', unarchive: 'unarchive',
};
const PLAIN_KINDS = {
  pinned_item: 'pin', unpinned_item: 'unpin', bot_message: 'bot', me_message: 'action',
  file_share: '', thread_broadcast: '', reply_broadcast: '', tombstone: '',
};

function kindOf(subtype) {
  const conversation = /^(?:channel|group)_(.+)$/.exec(subtype);
  if (conversation && conversation[1] in KINDS) return KINDS[conversation[1]];
  return subtype in PLAIN_KINDS ? PLAIN_KINDS[subtype] : subtype;
}

/** "1433558319.000002" to milliseconds, by digits: a double would round. */
export function milliseconds(ts) {
  const m = typeof ts === 'string' ? /^(\d{1,12})(?:\.(\d{0,9}))?$/.exec(ts) : null;
  return m ? Number(m[1]) * 1000 + Number((m[2] ?? '').padEnd(3, '0').slice(0, 3)) : undefined;
}

const unescape = (s) => s.replace(/&(amp|lt|gt);/g, (_, e) => ({ amp: '&', lt: '<', gt: '>' })[e]);

/** Markup to plain text; users it names are pushed to `said`. */
export function plain(raw, users, channels, said) {
  return raw.replace(/<([^<>]+)>|([^<]+|<)/g, (_, token, rest) => {
    if (token === undefined) return unescape(rest);
    const bar = token.indexOf('|');
    const target = bar < 0 ? token : token.slice(0, bar);
    const label = bar < 0 ? '' : token.slice(bar + 1);
    const id = target.slice(1);
    if (id && target[0] === '@') {
      const who = (users.get(id) ?? (label || id)).replace(/^@(?=.)/, '');
      said.push(who);
      return `@${unescape(who)}`;
    }
    if (id && target[0] === '#') return `#${unescape(label || channels.get(id) || id)}`;
    if (id && target[0] === '!') {
      const all = ['here', 'channel', 'everyone', 'group'].includes(id);
      return !all && label ? unescape(label) : `@${unescape(id)}`;
    }
    return label && label !== target ? `${unescape(label)} (${unescape(target)})` : unescape(target);
  });
}

function names(path) {
  const map = new Map();
  if (!existsSync(path)) return map;
  for (const entry of JSON.parse(readFileSync(path, 'utf8'))) {
    if (str(entry.id) && str(entry.name) && !map.has(entry.id)) map.set(entry.id, entry.name);
  }
  return map;
}

function textOf(m, users, channels, said) {
  const lines = [str(m.text)];
  if (lines[0] === '') {
    for (const a of Array.isArray(m.attachments) ? m.attachments : []) {
      lines.push(str(a.pretext), str(a.text) || str(a.fallback));
    }
  }
  return lines.filter((l) => l !== '').map((l) => plain(l, users, channels, said)).join('\n');
}

function files(m) {
  const given = Array.isArray(m.files) ? m.files : m.file ? [m.file] : [];
  return given
    .map((f) => ({
      name: str(f.name) || str(f.title), type: f.mimetype, size: f.size,
      url: str(f.url_private) || str(f.permalink), width: f.original_w, height: f.original_h,
    }))
    .filter((f) => f.name !== '' || f.url !== '')
    .map(attachment)
    .slice(0, 16);
}

function message(m, users, channels) {
  const who = str(m.user) || str(m.comment?.user);
  const said = [];
  const reactions = [];
  const text = cut(textOf(m, users, channels, said));
  for (const r of Array.isArray(m.reactions) ? m.reactions : []) {
    for (const u of r.users ?? []) reactions.push([name(r.name, 64), name(users.get(u) ?? u)]);
  }
  return {
    id: m.ts,
    at: milliseconds(m.ts),
    by: name(users.get(who) || str(m.username) || who || str(m.bot_id) || 'unknown'),
    text,
    kind: kindOf(str(m.subtype)),
    deleted: m.subtype === 'tombstone',
    edited_at: milliseconds(m.edited?.ts),
    reply_to_id: milliseconds(m.thread_ts) !== undefined && m.thread_ts !== m.ts ? m.thread_ts : '',
    mentions: mentions(said),
    attachments: files(m),
    reactions,
  };
}

/** The messages of a day file; of a truncated one those before the break. */
function day(path, threads) {
  const text = new TextDecoder('utf-8').decode(readFileSync(path));
  try {
    return JSON.parse(text);
  } catch {
    threads.skipped++;
  }
  // Every place where an element may end is tried, the longest first.
  for (let end = text.lastIndexOf('}'); end > 0; end = text.lastIndexOf('}', end - 1)) {
    try {
      return JSON.parse(`${text.slice(0, end + 1)}]`);
    } catch {
      // not the end of an element
    }
  }
  return [];
}

export function parse(path, options = {}) {
  const threads = new Threads();
  const users = names(join(path, 'users.json'));
  if (!users.has('USLACKBOT')) users.set('USLACKBOT', 'slackbot');
  const channels = new Map([...names(join(path, 'groups.json')), ...names(join(path, 'channels.json'))]);
  const direct = new Set();
  for (const file of ['dms.json', 'mpims.json']) {
    if (!existsSync(join(path, file))) continue;
    for (const d of JSON.parse(readFileSync(join(path, file), 'utf8'))) direct.add(d.id).add(d.name);
  }
  for (const channel of readdirSync(path).sort()) {
    if (direct.has(channel) || !statSync(join(path, channel)).isDirectory()) continue;
    for (const file of readdirSync(join(path, channel)).filter((f) => /^[^.].*\.json$/.test(f)).sort()) {
      for (const m of day(join(path, channel, file), threads)) {
        const usable = m && typeof m === 'object' && !Array.isArray(m) && milliseconds(m.ts) !== undefined;
        if (usable) threads.add(options.thread ?? channel, message(m, users, channels));
        else threads.skipped++;
      }
    }
  }
  return threads.finish();
}
