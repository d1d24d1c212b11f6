#!/usr/bin/env node
// gen-jsonl.mjs N THREADS [SEED] - N realistic chat messages as JSON Lines on stdout, in time
// order over THREADS threads. Deterministic: the same arguments give the same bytes.
//
// A few per cent carry replies, mentions, attachments, kinds, reactions or another alphabet;
// some share their millisecond. Memory does not grow with N.

import { once } from 'node:events';

const [count, threads, seed] = [process.argv[2], process.argv[3], process.argv[4] ?? '1'].map(Number);
if (!Number.isInteger(count) || !Number.isInteger(threads) || count < 0 || threads < 1) {
  process.stderr.write('usage: gen-jsonl.mjs N THREADS [SEED]\n');
  process.exit(2);
}

const WORDS = `the a to of and in is it that for on with this be at by not are from or have an as we
you can if but they there what about which when make like time just know people into your good some
could them see other than then now look only come its over think also back after use two how our work
first well way even new want because any these give day most us server build deploy merge branch test
review ticket customer release staging latency queue index page scroll cursor snapshot socket message
thread channel history search export backup restore config token key limit error retry timeout patch
meeting lunch coffee tomorrow thanks sorry great perfect agreed wait broken fixed again slowly
`.trim().split(/\s+/);
const FOREIGN = ['Grüße aus Köln', 'ça marche très bien', 'これはテストです', 'спасибо большое', 'مرحبا بكم', '好的没问题', '👍🏽 готово'];

let state = seed >>> 0;
// mulberry32
function random() {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = state;
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const below = (n) => Math.floor(random() * n);
const pick = (list) => list[below(list.length)];
const user = () => `user${below(500).toString().padStart(3, '0')}`;

function text() {
  const words = [];
  // Mostly short lines, a few paragraphs.
  const n = 12 + below(38) + (random() < 0.03 ? below(120) : 0);
  for (let i = 0; i < n; i++) words.push(pick(WORDS));
  let s = words.join(' ');
  if (random() < 0.04) s += ` ${pick(FOREIGN)}`;
  if (random() < 0.06) s += ` https://example.org/${pick(WORDS)}/${below(10000)}`;
  if (random() < 0.02) s += `\n"${pick(WORDS)}" \\ ${pick(WORDS)}`;
  return s;
}

const last = new Array(threads).fill(0); // number of the thread's newest message
let at = 1600000000000;

function message(i) {
  // A few threads are busy, most are quiet.
  const t = Math.floor(threads * random() * random());
  at += random() < 0.1 ? 0 : 1 + below(2000);
  const m = { thread: `room-${t}`, at, by: user(), text: text(), id: `m${i}` };
  if (last[t] && random() < 0.08) m.reply_to_id = `m${last[t]}`;
  if (random() < 0.05) m.mentions = [user()];
  if (random() < 0.03) {
    const name = `${pick(WORDS)}.${pick(['png', 'pdf', 'txt'])}`;
    const type = { png: 'image/png', pdf: 'application/pdf', txt: 'text/plain' }[name.slice(-3)];
    m.attachments = [{ name, type, size: below(5000000), url: `https://files.example.org/${i}/${name}` }];
  }
  if (random() < 0.02) m.kind = pick(['join', 'leave', 'topic']);
  if (random() < 0.02) m.edited_at = at + below(60000);
  if (random() < 0.03) m.reactions = { '👍': [user(), user()] };
  last[t] = i;
  return m;
}

process.stdout.on('error', (e) => process.exit(e.code === 'EPIPE' ? 0 : 1));
let block = [];
for (let i = 1; i <= count; i++) {
  block.push(JSON.stringify(message(i)));
  if (block.length === 1000 || i === count) {
    if (!process.stdout.write(`${block.join('\n')}\n`)) await once(process.stdout, 'drain');
    block = [];
  }
}
