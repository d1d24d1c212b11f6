// irc.mjs - reads IRC logs (ZNC folders and dated *.raw.txt archives): the reference that the
// server's reader is held against.
//
// Order of a file holds; a step back of more than 12 h is the next day, a smaller one is raised.

import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { Threads, cut, name } from './common.mjs';

const HALF_DAY = 12 * 3600;
const CP1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

function decode(buffer) {
  let text;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(buffer);
    if (/\x1b(?:\$[@B]|\([JI])/.test(text)) text = new TextDecoder('iso-2022-jp').decode(buffer);
  } catch {
    text = buffer.toString('latin1').replace(/[\x80-\x9f]/g, (c) => CP1252[c.charCodeAt(0) - 0x80]);
  }
  return text
    .replace(/\x03(?:\d{1,2}(?:,\d{1,2})?)?/g, '')
    .replace(/\x04(?:[0-9a-fA-F]{6}(?:,[0-9a-fA-F]{6})?)?/g, '')
    .replace(/[\x00-\x08\x0a-\x1f\x7f]/g, '');
}

function* lines(buffer) {
  let at = buffer.subarray(0, 3).equals(Buffer.from('efbbbf', 'hex')) ? 3 : 0;
  while (at < buffer.length) {
    let end = buffer.indexOf(10, at);
    if (end < 0) end = buffer.length;
    const stop = buffer[end - 1] === 13 && end > at ? end - 1 : end;
    yield buffer.subarray(at, stop);
    at = end + 1;
  }
}

const TIME = /^(?:\[([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d|60))?\]|([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d|60))?)(?: +|$)/;
const bare = (nick) => nick.replace(/^#[^:]*:/, '').replace(/^[ @+%&~]+(?=.)/, '');
const DEEDS = / (?:\[|has |is now known as |was kicked|sets mode|changes topic|quit|has left|changed the topic)/y;

function subject(text) {
  const gone = /^(?:Joins|Parts|Quits): ([^ ]+)/.exec(text);
  if (gone) return gone[1];
  const first = /^[^ ]*/.exec(text)[0];
  DEEDS.lastIndex = first.length;
  return first && !/[/:]|^#/.test(first) && DEEDS.test(text) ? first : '*';
}

/** {seconds?, by, text, kind?} of one decoded line. */
export function line(s) {
  const time = TIME.exec(s);
  const seconds = time
    ? Number(time[1] ?? time[4]) * 3600 + Number(time[2] ?? time[5]) * 60 + Math.min(59, Number(time[3] ?? time[6] ?? 0))
    : undefined;
  const rest = time ? s.slice(time[0].length) : s;
  let m;
  if ((m = /^(?:===|\*\*\*) +(.*)$/.exec(rest))) return { seconds, by: subject(m[1]), text: m[1], kind: 'system' };
  if (time) {
    if ((m = /^<([^>]+)>(?: (.*))?$/.exec(rest)) && bare(m[1])) return { seconds, by: bare(m[1]), text: m[2] ?? '' };
    if ((m = /^\* +([^ ]+)(?: (.*))?$/.exec(rest))) return { seconds, by: bare(m[1]), text: m[2] ?? '', kind: 'action' };
    if ((m = /^-([^ :(]+)(?:[:(][^ ]*)?-(?: (.*))?$/.exec(rest))) return { seconds, by: m[1], text: m[2] ?? '', kind: 'notice' };
  }
  return { seconds, by: '*', text: rest, kind: 'other' };
}

function zone(tz) {
  if (!tz || tz === 'UTC') return () => 0;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: tz, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric',
    hour: 'numeric', minute: 'numeric', second: 'numeric',
  });
  return (t) => {
    const p = Object.fromEntries(format.formatToParts(new Date(t * 1000)).map((x) => [x.type, Number(x.value)]));
    return Date.UTC(p.year, p.month - 1, p.day, p.hour, p.minute, p.second) / 1000 - t;
  };
}

/** The instants that a wall time can mean, earliest first; in a gap the one after it. */
function instants(wall, offset) {
  const before = offset(wall - 86400);
  const found = [...new Set([before, offset(wall + 86400)])].map((o) => wall - o).filter((t) => t + offset(t) === wall);
  return found.length ? found.sort((a, b) => a - b) : [wall - before];
}

function file(path, thread, day, offset, threads, textMax) {
  const parsed = [];
  for (const raw of lines(readFileSync(path))) {
    const s = decode(raw);
    if (!/^[ \t]*$/.test(s)) parsed.push(line(s));
  }
  const seen = new Map();
  let date = day;
  let newest; // {wall, at}
  let wall;
  const tick = (seconds) => {
    wall = date + seconds;
    if (newest && newest.wall - wall > HALF_DAY) {
      date += 86400;
      wall += 86400;
    }
    const at = instants(wall, offset).find((t, i, all) => !newest || t >= newest.at || i === all.length - 1);
    if (!newest || at >= newest.at) newest = { wall, at };
  };
  for (const l of parsed) {
    if (l.seconds !== undefined) tick(l.seconds);
    else if (!newest) {
      tick(parsed.find((x) => x.seconds !== undefined)?.seconds ?? 0);
      wall = day; // its identity must not depend on a line that may not be written yet
    }
    const by = name(l.by);
    const key = `${[thread, new Date(wall * 1000).toISOString().slice(0, 19), by, l.text].join('\0')}\0`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
    const id = createHash('sha256').update(`${key}${seen.get(key)}\0`).digest('hex').slice(0, 32);
    threads.add(thread, { at: newest.at * 1000, by, text: cut(l.text, textMax), kind: l.kind, id });
  }
}

function walk(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((e) =>
    e.isDirectory() ? walk(join(folder, e.name)) : [join(folder, e.name)]);
}

function dayOf(file) {
  for (const m of basename(file).matchAll(/(?<!\d)(\d{4})-(\d{2})-(\d{2})/g)) {
    const t = Date.UTC(Number(m[1]), Number(m[2]) - 1, Number(m[3]));
    if (new Date(t).toISOString().startsWith(m[0])) return t / 1000;
  }
  return undefined;
}

export function parse(path, options = {}) {
  const threads = new Threads();
  const root = realpathSync(path);
  const single = statSync(root).isFile();
  const files = single ? [root] : walk(root).filter((f) => /.\.(?:raw\.txt|log)$/.test(basename(f)));
  const byName = (f) => Buffer.from(relative(root, f));
  files.sort((a, b) => Buffer.compare(byName(a), byName(b)));
  for (const f of files) {
    const day = dayOf(f);
    if (day === undefined) {
      threads.skipped++;
      continue;
    }
    const folder = single || f.endsWith('.log') ? basename(dirname(f)) : basename(root);
    file(f, name(options.thread ?? folder), day, zone(options.tz), threads, options.textMax);
  }
  return threads.finish();
}
