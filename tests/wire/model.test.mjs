// A random run against a naive reference: users post in bursts (many rows in one ms),
// walk with any limit, filter and direction, and are removed and re-added meanwhile.
//
// What must hold: a walk gives exactly the rows with version ≤ the walk's version that
// its reader may see, in order, whatever happens during it; who is not a member gets
// `forbidden`. Versions of posts and membership changes come with their replies, so the
// reference needs no clock.
//
// SB_SEED repeats the choices of a run, SB_MODEL_SECONDS sets its length (default 20).

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { summary } from './lib/client.mjs';
import { scenario } from './lib/harness.mjs';
import { checkPage, matches, order, seqs } from './lib/pages.mjs';
import { Rand, newSeed } from './lib/rand.mjs';
import { projectRoot } from './lib/server.mjs';

const SECONDS = Number(process.env.SB_MODEL_SECONDS ?? 20);
const THREADS = { all1: 'all', all2: 'all', join1: 'since_join', join2: 'since_join' };
const USERS = ['u0', 'u1', 'u2', 'u3', 'u4'];
const FOUNDERS = ['u0', 'u1', 'u2'];
const KINDS = [undefined, undefined, undefined, 'join', 'note'];
const NEXT = { load_older: 'older', load_newer: 'newer' };

let moments = 0; // a logical clock: each send and each reply is a new moment
const moment = () => ++moments;

class Model {
  constructor(rand) {
    this.rand = rand;
    this.rows = Object.fromEntries(Object.keys(THREADS).map((thread) => [thread, []]));
    this.pending = new Set(); // promises of writes that are not answered yet
    // thread user → [{sent, done, version, role}], each change after the one before
    this.roles = new Map();
    this.walks = 0;
    this.pages = 0;
    this.cut = 0; // walks that a membership change ended
  }

  // Keeps a write's promise until it is answered.
  answered(promise) {
    this.pending.add(promise);
    promise.finally(() => this.pending.delete(promise)).catch(() => {});
    return promise;
  }

  history(thread, user) {
    const key = `${thread} ${user}`;
    if (!this.roles.has(key)) {
      const role = FOUNDERS.includes(user) ? 'writer' : null;
      this.roles.set(key, [{ sent: 0, done: 0, version: 0, role }]);
    }
    return this.roles.get(key);
  }

  // The changes that may have been in force at some moment of [from, to].
  inForce(thread, user, from, to) {
    const changes = this.history(thread, user);
    return changes.filter((change, i) => change.sent <= to && (changes[i + 1]?.done ?? Infinity) >= from);
  }

  // The version from which a member sees rows, under the membership of `change`.
  joinVersion(thread, user, change) {
    if (THREADS[thread] === 'all') return 0;
    const changes = this.history(thread, user);
    let i = changes.indexOf(change);
    while (i > 0 && changes[i - 1].role !== null) i--;
    return changes[i].version;
  }

  expected(thread, version, join, filter) {
    return this.rows[thread]
      .filter((row) => row.version <= version && row.version > join && matches(row, filter))
      .sort(order);
  }

  filter() {
    const { rand } = this;
    if (rand.chance(0.4)) return rand.pick([undefined, null, {}, { by: [] }]);
    const filter = {};
    if (rand.chance(0.5)) filter.by = USERS.filter(() => rand.chance(0.5));
    if (rand.chance(0.3)) filter.kind = [rand.pick(['message', 'join', 'note'])];
    if (rand.chance(0.2)) filter.has = [rand.pick(['reply', 'link', 'image', 'file', 'attachment'])];
    return filter;
  }
}

async function poster(model, client, user, until) {
  const { rand } = model;
  while (Date.now() < until()) {
    const thread = rand.pick(Object.keys(THREADS));
    const burst = Array.from({ length: rand.between(1, 12) }, () => post(model, client, thread, user));
    await Promise.all(burst);
    await new Promise((resolve) => setTimeout(resolve, rand.below(20)));
  }
}

function post(model, client, thread, user) {
  const { rand } = model;
  const fields = { thread, text: rand.chance(0.2) ? 'see https://example.org' : 'plain', kind: rand.pick(KINDS) };
  if (rand.chance(0.1)) fields.attachments = [{ name: 'a', type: rand.pick(['image/png', 'text/plain']), size: 1, url: 'https://x.example/a' }];
  const mine = model.rows[thread].filter((row) => row.by === user);
  if (rand.chance(0.15) && mine.length > 0 && THREADS[thread] === 'all') fields.reply_to = rand.pick(mine).seq;
  const sent = moment();
  const promise = client.request('post', fields).then((reply) => {
    const roles = model.inForce(thread, user, sent, moment()).map((change) => change.role);
    if (reply.error) {
      assert.equal(reply.error.code, 'forbidden', summary(reply));
      assert.ok(roles.some((role) => role !== 'writer'), `${user} was a writer of ${thread} throughout`);
      return;
    }
    assert.ok(roles.includes('writer'), `${user} was no writer of ${thread}`);
    model.rows[thread].push({ ...fields, by: user, seq: reply.seq, at: reply.at, version: reply.version });
  });
  return model.answered(promise);
}

async function membership(model, svc, until) {
  const { rand } = model;
  while (Date.now() < until()) {
    const thread = rand.pick(Object.keys(THREADS));
    const user = rand.pick(USERS.slice(1)); // u0 stays
    const role = rand.pick([null, 'writer', 'writer', 'reader']);
    const changes = model.history(thread, user);
    // In force from some moment between sent and done; `done` is open until the reply.
    const change = { sent: moment(), done: Infinity, version: Infinity, role };
    changes.push(change);
    const promise = svc.ok('set_member', { thread, user, role }).then((reply) => {
      change.version = reply.version;
      change.done = moment();
    });
    await model.answered(promise);
    await new Promise((resolve) => setTimeout(resolve, rand.below(60)));
  }
}

async function walker(model, client, user, until) {
  while (Date.now() < until()) await oneWalk(model, client, user);
}

async function oneWalk(model, client, user) {
  const { rand } = model;
  const thread = rand.pick(Object.keys(THREADS));
  const op = rand.pick(Object.keys(NEXT));
  const filter = model.filter();
  const most = rand.pick([1, 3, 10, 50, 200]);
  const got = [];
  const begun = moment();
  let first;
  let cursor;
  let firstEnd;
  do {
    const limit = rand.between(1, most);
    const sent = moment();
    const page = await client.request(op, { thread, limit, filter, cursor });
    const done = moment();
    const roles = model.inForce(thread, user, sent, done).map((change) => change.role);
    if (page.error) return refusedRight(model, { page, roles, thread, user, cursor, begun, done });
    assert.ok(roles.some((role) => role !== null), `${user} was no member of ${thread}, yet got rows`);
    checkPage(page, op);
    first ??= page;
    firstEnd ??= done;
    cursor = page[NEXT[op]];
    assert.ok(cursor === null || page.messages.length === limit, 'a short page that is not the last');
    got.push(...(op === 'load_older' ? [...page.messages].reverse() : page.messages));
    model.pages++;
    if (got.length > 400 && rand.chance(0.3)) break; // leave some walks unfinished
  } while (cursor !== null);
  model.walks++;
  await Promise.all([...model.pending]);
  const finished = cursor === null;
  const joins = new Set(
    model.inForce(thread, user, begun, firstEnd).filter((change) => change.role !== null).map((change) => model.joinVersion(thread, user, change)),
  );
  const wanted = [...joins].map((join) => {
    const rows = model.expected(thread, first.version, join, filter);
    return seqs(op === 'load_older' ? rows.reverse() : rows).slice(0, finished ? undefined : got.length);
  });
  const mine = seqs(got);
  if (!wanted.some((one) => one.length === mine.length && one.every((seq, i) => seq === mine[i]))) {
    assert.deepEqual(mine, wanted[0], `${op} of ${thread} by ${user}, ${JSON.stringify(filter)}, version ${first.version}`);
  }
}

function refusedRight(model, { page, roles, thread, user, cursor, begun, done }) {
  model.cut++;
  if (page.error.code === 'forbidden') {
    assert.ok(roles.includes(null), `${user} was a member of ${thread} throughout, yet ${summary(page)}`);
    return;
  }
  assert.equal(page.error.code, 'invalid_cursor', summary(page));
  assert.ok(cursor, 'invalid_cursor on a first page');
  assert.equal(THREADS[thread], 'since_join', 'history all keeps cursors');
  const during = model.inForce(thread, user, begun, done).map((change) => change.role);
  assert.ok(during.includes(null), 'the join position did not change');
}

scenario('model: random posts, walks and memberships against the naive reference', { timeout: (SECONDS + 120) * 1000 }, async (s) => {
  const seed = newSeed();
  process.stdout.write(`# seed ${seed} (SB_SEED repeats its choices)\n`);
  const model = new Model(new Rand(seed));
  const server = await s.server();
  try {
    await play(s, server, model);
  } catch (error) {
    const folder = path.join(projectRoot, 'tests/failures');
    fs.mkdirSync(folder, { recursive: true });
    fs.appendFileSync(path.join(folder, 'model.txt'), `seed ${seed}: ${String(error.message).split('\n')[0]}\n`);
    throw error;
  }
  const rows = Object.values(model.rows).reduce((sum, list) => sum + list.length, 0);
  s.diagnostic(`seed ${seed}: ${rows} rows, ${model.walks} walks, ${model.pages} pages, ${model.cut} ended by membership`);
  assert.ok(model.walks > 20 && rows > 100, 'the run did too little');
});

async function play(s, server, model) {
  const svc = await s.service(server);
  const members = Object.fromEntries(FOUNDERS.map((user) => [user, 'writer']));
  for (const [thread, history] of Object.entries(THREADS)) await svc.ok('create_thread', { thread, history, members });
  let end = Date.now() + SECONDS * 1000;
  const until = () => end;
  const jobs = [membership(model, svc, until)];
  for (const user of USERS) {
    jobs.push(poster(model, await s.session(server, user), user, until));
    for (let i = 0; i < 2; i++) jobs.push(walker(model, await s.session(server, user), user, until));
  }
  try {
    await Promise.all(jobs);
  } finally {
    end = 0; // the others stop, too
    await Promise.allSettled(jobs);
  }
  for (const thread of Object.keys(THREADS)) {
    const all = model.rows[thread].map((row) => row.seq).sort((a, b) => a - b);
    assert.deepEqual(all, all.map((_, i) => i + 1), `${thread}: seqs are dense`);
  }
}
