/*
 * make-demo.mjs - a lively, made-up conversation as JSON Lines for `scrollback import`.
 *
 * The text is in demo-text/; this deals it out over people and weeks. The same --seed,
 * --now and --messages give the same bytes.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { Random } from './demo-text/random.mjs';
import { parseSlots, parseThread } from './demo-text/parse.mjs';
import { Speech } from './demo-text/speech.mjs';

const HELP = `usage: node web-demo/make-demo.mjs [--messages N] [--days D] [--now MS] [--seed S]

Writes a made-up conversation to stdout, one JSON object per line, oldest first, in the
form that "scrollback import --format jsonl" reads.

  --messages N   about so many messages (default 4000)
  --days D       spread over so many days (default 42)
  --now MS       the newest is a few minutes older than this Unix time (default: now)
  --seed S       another number deals differently (default 1)
`;

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** How talkative threads are, by file; the rest is 1. */
const WEIGHT = { launch: 1.5, support: 1.5, kitchen: 1.3, berlin: 0.7, books: 0.7, music: 0.8 };
/** By hour of the day: when people talk. */
const HOURS = [0, 0, 0, 0, 0, 0, 1, 4, 9, 10, 10, 9, 7, 8, 9, 9, 8, 6, 4, 3, 2, 2, 1, 0];

function options(args) {
  const values = { messages: 4000, days: 42, now: Date.now(), seed: 1 };
  for (let i = 0; i < args.length; i += 2) {
    const name = args[i].replace(/^--/, '');
    const value = Number(args[i + 1]);
    if (!args[i].startsWith('--') || !Object.hasOwn(values, name)) throw new Error(`unknown option ${args[i]}`);
    if (!Number.isSafeInteger(value) || value < 1) throw new Error(`${args[i]} needs a whole number above 0`);
    values[name] = value;
  }
  return values;
}

/** Start times within the days, at hours when people talk, weekends thinner, in order. */
function startTimes(random, count, { days, now }) {
  const times = [];
  while (times.length < count) {
    const at = now - Math.floor(random.next() * days * DAY);
    const date = new Date(at);
    const busy = HOURS[date.getUTCHours()] / 10 * ([0, 6].includes(date.getUTCDay()) ? 0.15 : 1);
    if (random.next() < busy) times.push(at);
  }
  return times.sort((a, b) => a - b);
}

/** All messages of one thread, oldest first. */
function talk(thread, slots, total, settings) {
  const random = new Random(settings.seed, thread.id);
  const speech = new Speech(thread, slots, random);
  const perExchange = thread.exchanges.reduce((sum, one) => sum + one.length, 0) / thread.exchanges.length;
  const starts = startTimes(random, Math.max(2, Math.round(total / perExchange)), settings);
  const latest = settings.now - 5 * MINUTE;
  speech.opening(starts[0] - 10 * MINUTE);
  const deck = [];
  starts.forEach((start, i) => {
    if (deck.length === 0) deck.push(...random.shuffled(thread.exchanges));
    speech.exchange(deck.pop(), start);
    if (i % 37 === 20) speech.comingAndGoing(thread.system[i % thread.system.length]);
  });
  return speech.rows.filter((row) => row.at <= latest);
}

function main(args) {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(HELP);
    return 0;
  }
  let settings;
  try {
    settings = options(args);
  } catch (error) {
    process.stderr.write(`make-demo.mjs: ${error.message}\n\n${HELP}`);
    return 2;
  }
  const folder = new URL('demo-text/', import.meta.url);
  const read = (name) => readFileSync(new URL(name, folder), 'utf8');
  const slots = parseSlots(read('slots.txt'));
  const threads = readdirSync(folder).filter((name) => name.endsWith('.txt') && name !== 'slots.txt').sort()
    .map((name) => parseThread(read(name), name));
  const weights = threads.map((thread) => WEIGHT[thread.id] ?? 1);
  const unit = settings.messages / weights.reduce((a, b) => a + b);
  const rows = threads.flatMap((thread, i) => talk(thread, slots, unit * weights[i], settings));
  rows.sort((a, b) => a.at - b.at); // stable: rows of one ms keep their order
  process.stdout.write(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return 0;
}

// A reader that has seen enough (head) is no error.
process.stdout.on('error', (error) => { process.exitCode = error.code === 'EPIPE' ? 0 : 1; });
process.exitCode = main(process.argv.slice(2));
