/* history.test.mjs - the window: order, no repeats, jumps, bounds, changed rows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History, compareRows } from '../src/index.js';

const row = (seq, at = seq * 10, version = seq) => ({ seq, at, by: 'a', text: `m${seq}`, version });
const cursor = (n) => Uint8Array.of(n);
const older = (seqs, next = null) => ({ messages: seqs.map((s) => row(s)), older: next, version: 9, now: 9 });
const newer = (seqs, next = null) => ({ messages: seqs.map((s) => row(s)), newer: next, version: 9, now: 9 });
const held = (history) => history.rows.map((r) => r.seq);

test('pages join in order, and say what was new', () => {
  const history = new History();
  assert.deepEqual(history.olderStep(), {});
  history.addOlder(older([6, 7, 8], cursor(1)));
  assert.equal(history.atEnd, true);
  assert.deepEqual(history.olderStep(), { cursor: cursor(1) });
  const added = history.addOlder(older([3, 4, 5], cursor(2)));
  assert.deepEqual(added.map((r) => r.seq), [3, 4, 5]);
  history.addOlder(older([1, 2]));
  assert.deepEqual(held(history), [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(history.atBeginning, true);
  assert.equal(history.olderStep(), null);
});

test('overlap is merged without repeats; the higher version wins', () => {
  const history = new History();
  history.addOlder(older([4, 5, 6], cursor(1)));
  const added = history.addOlder({ ...older([2, 3], cursor(2)),
    messages: [row(2), row(3), { ...row(4, 40, 99), text: 'edited' }, row(5, 50, 1)] });
  assert.deepEqual(added.map((r) => r.seq), [2, 3]);
  assert.deepEqual(held(history), [2, 3, 4, 5, 6]);
  assert.equal(history.rows[2].text, 'edited');
  assert.equal(history.rows[3].version, 5);
});

test('order is (at, seq): a backdated row has a high seq', () => {
  const history = new History();
  history.addOlder({ ...older([]), messages: [row(1, 10), row(9, 10), row(2, 11)] });
  history.addNewer({ ...newer([]), messages: [row(3, 11)] });
  assert.deepEqual(held(history), [1, 9, 2, 3]);
  assert.ok(compareRows(row(9, 10), row(2, 11)) < 0);
});

test('any order of overlapping pages gives the same window', () => {
  let seed = 20240601;
  const random = () => { seed = (seed * 48271) % 2147483647; return seed / 2147483647; };
  for (let round = 0; round < 200; round++) {
    const history = new History();
    const pages = [];
    for (let from = 1; from <= 60; from += 1 + Math.floor(random() * 6)) pages.push(from);
    pages.sort(() => random() - 0.5);
    for (const from of pages) {
      const list = Array.from({ length: 7 }, (_, i) => from + i);
      if (random() < 0.5) history.addOlder(older(list, cursor(1)));
      else history.addNewer(newer(list, cursor(1)));
    }
    const got = held(history);
    assert.deepEqual(got, [...new Set(got)].sort((a, b) => a - b), `seed 20240601, round ${round}`);
    assert.equal(got.length, Math.max(...pages) + 6);
  }
});

test('a jump replaces the window', () => {
  const history = new History();
  history.addOlder(older([98, 99], cursor(1)));
  history.replace({ messages: [row(10), row(11)], older: cursor(2), newer: cursor(3), found: true, version: 9, now: 9 });
  assert.deepEqual(held(history), [10, 11]);
  assert.equal(history.atEnd, false);
  assert.deepEqual(history.olderStep(), { cursor: cursor(2) });
  assert.deepEqual(history.newerStep(), { cursor: cursor(3) });
});

test('dropping an end reopens it at the row that is left', () => {
  const history = new History();
  history.addOlder(older([1, 2, 3, 4, 5, 6]));
  assert.deepEqual(history.newerStep(), { after: 6 });
  assert.deepEqual(history.dropNewest(4).map((r) => r.seq), [5, 6]);
  assert.equal(history.atEnd, false);
  assert.deepEqual(history.newerStep(), { after: 4 });
  assert.deepEqual(history.dropOldest(3).map((r) => r.seq), [1]);
  assert.equal(history.atBeginning, false);
  assert.deepEqual(history.olderStep(), { before: 2 });
  assert.deepEqual(history.dropOldest(10), []);
});

test('100,000 rows through a window of 1,000 stay 1,000', () => {
  const history = new History();
  for (let seq = 100_000; seq > 0; seq -= 200) {
    history.addOlder(older(Array.from({ length: 200 }, (_, i) => seq - 199 + i), cursor(1)));
    history.dropNewest(1000);
  }
  assert.equal(history.rows.length, 1000);
  assert.deepEqual([history.rows[0].seq, history.rows[999].seq], [1, 1000]);
});

test('a new session: the steps start from the rows', () => {
  const history = new History();
  history.addOlder(older([3, 4], cursor(1)));
  history.addNewer(newer([5], cursor(2)));
  history.forgetCursors();
  assert.deepEqual(history.olderStep(), { before: 3 });
  assert.deepEqual(history.newerStep(), { after: 5 });
});

test('upsert: inside the window and newer, else refused', () => {
  const history = new History();
  history.addOlder(older([3, 4, 6], cursor(1)));
  assert.equal(history.upsert({ seq: 4, at: 40, version: 50, deleted: true }), true);
  assert.equal(history.rows[1].deleted, true);
  assert.equal(history.upsert(row(4, 40, 49)), false, 'an older state');
  assert.equal(history.upsert(row(2)), false, 'below the window');
  assert.equal(history.upsert(row(5)), true, 'between');
  assert.equal(history.upsert(row(7)), true, 'at the end, which is the newest');
  history.dropNewest(2);
  assert.equal(history.upsert(row(8)), false, 'above a window that is cut');
});
