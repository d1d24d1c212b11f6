// Real exports, imported by the program, walked by the independent client, compared with
// what an independent reader (tests/reference) finds in the same files.
//
// The reference readers and the program share no code: agreement means both read the
// format, and every walk at every limit gives each message once and in its place.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { scenario } from './lib/harness.mjs';
import { order, seqs, walk } from './lib/pages.mjs';
import { fixtures, projectRoot, run, sharedData } from './lib/server.mjs';

const LIMITS = [1, 7, 50, 200];
const WALKERS = 8; // connections that share a long walk
const SUMMARY = /^imported (\d+) messages?, (\d+) updated, (\d+) skipped, (\d+) threads?$/;

const reference = async (format) => {
  const file = path.join(projectRoot, 'tests/reference', `${format}.mjs`);
  return fs.existsSync(file) ? (await import(file)).parse : null;
};

async function importInto(dir, format, source, args = []) {
  const result = await run(['import', '--data', dir, '--format', format, ...args, ...[].concat(source)], { timeout: 600_000 });
  assert.equal(result.code, 0, `${result.stdout}\n${result.stderr}`);
  const match = SUMMARY.exec(result.stdout.trimEnd().split('\n').at(-1));
  assert.ok(match, result.stdout);
  const [imported, updated, skipped, threads] = match.slice(1).map(Number);
  return { imported, updated, skipped, threads };
}

// What of the rows both readers must agree on; a tombstone keeps its place only. Replies
// are compared by the source's own ids: seqs are the server's.
const shown = (rows) => {
  const idOf = new Map(rows.map((row) => [row.seq, row.source?.id]));
  return rows.map((row) => shownRow(row, row.source?.id, idOf.get(row.reply_to)));
};

const wantedOf = (rows) => {
  const known = new Set(rows.filter((row) => !row.deleted).map((row) => row.id));
  return inOrder(rows).map((row) => shownRow(row, row.id, known.has(row.reply_to_id) ? row.reply_to_id : undefined));
};

function shownRow(row, id, parent) {
  if (row.deleted) return { at: row.at, deleted: true };
  // The client's decoder drops a byte order mark at the start of a longer string.
  const out = { at: row.at, by: row.by, text: row.text.replace(/^\ufeff/, ''), id };
  if (row.kind && row.kind !== 'message') out.kind = row.kind;
  for (const key of ['edited_at', 'mentions', 'attachments']) if (row[key] !== undefined) out[key] = row[key];
  if (parent !== undefined) out.reply_to_id = parent;
  return out;
}

// A stable order by time: what the files give is the order of ties.
const inOrder = (rows) => rows.map((row, i) => ({ ...row, seq: row.seq ?? i + 1 })).sort(order);

async function compare(s, { format, source, args, options, limits = LIMITS }) {
  const parse = await reference(format);
  if (parse === null) return s.skip(`no reference reader for ${format}`);
  const expected = await parse(source, options);
  const total = [...expected.values()].reduce((sum, rows) => sum + rows.length, 0);
  const dir = s.dir();
  const first = await importInto(dir, format, source, args);
  assert.deepEqual([first.imported, first.threads], [total, expected.size], format);
  const server = await s.server([], { dir });
  const svc = await s.service(server);
  const names = (await allThreads(svc)).sort();
  assert.deepEqual(names, [...expected.keys()].sort(), 'the threads');
  for (const [thread, rows] of expected) {
    const reading = await walk(svc, 'load_older', thread, { limit: 200 });
    assertSame(shown(reading.rows), wantedOf(rows), thread);
    await everyLimit(svc, thread, reading.rows, limits);
  }
  s.diagnostic(`${total} messages, ${expected.size} threads, ${first.skipped} skipped`);
  await server.stop();
  const again = await importInto(dir, format, source, args);
  assert.equal(again.imported, 0, 'the second time nothing is new');
  // An export that holds an id twice, with two texts, updates the row to and fro.
  if (first.updated === 0) assert.equal(again.updated, 0, 'the second time nothing is changed');
  await server.start();
  const reader = await s.service(server);
  for (const [thread, rows] of expected) {
    assertSame(shown((await walk(reader, 'load_older', thread)).rows), wantedOf(rows), `${thread}, after the second time`);
  }
  await server.stop();
  const checked = await run(['check', '--data', dir], { timeout: 300_000 });
  assert.equal(checked.code, 0, checked.stdout);
  return undefined;
}

async function everyLimit(client, thread, rows, limits) {
  const wanted = seqs(rows);
  for (const limit of limits) {
    for (const op of ['load_older', 'load_newer']) {
      const { rows: walked, pages } = await walk(client, op, thread, { limit });
      assertSame(seqs(walked), wanted, `${op} of ${thread}, limit ${limit}`);
      assert.equal(pages.length, Math.max(1, Math.ceil(wanted.length / limit)), `${op} of ${thread}, limit ${limit}: pages`);
    }
  }
}

// deepEqual of long lists, but with a message of one difference.
function assertSame(got, wanted, what) {
  const n = Math.max(got.length, wanted.length);
  for (let i = 0; i < n; i++) {
    if (!isDeepStrictEqual(got[i], wanted[i])) {
      assert.deepEqual({ i, row: got[i] }, { i, row: wanted[i] }, `${what}: ${got.length} rows, ${wanted.length} wanted`);
    }
  }
}

async function allThreads(client) {
  const names = [];
  let cursor;
  do {
    const page = await client.ok('threads', { limit: 200, cursor });
    names.push(...page.threads.map((one) => one.thread));
    cursor = page.next;
  } while (cursor !== null);
  return names;
}

// Fixtures are folders or files tests/fixtures/FORMAT/… , each one source.
function fixturesOf(format) {
  const folder = path.join(fixtures, format);
  return fs.existsSync(folder) ? fs.readdirSync(folder).sort().map((name) => path.join(folder, name)) : [];
}

for (const format of ['jsonl', 'slack', 'irc']) {
  scenario(`import and walk: the ${format} fixtures, both ways, limits ${LIMITS.join(', ')}`, { timeout: 300_000 }, async (s) => {
    const sources = fixturesOf(format);
    if (sources.length === 0) return s.skip(`no fixtures of ${format}`);
    for (const source of sources) await compare(s, { format, source });
    return undefined;
  });
}

scenario('import and walk: the Slack export of a meetup workspace, folder and zip', { timeout: 600_000 }, async (s) => {
  const root = path.join(sharedData, 'slack-houstondatavis-2016');
  if (!fs.existsSync(root)) return s.skip('no shared data');
  await compare(s, { format: 'slack', source: path.join(root, 'export') });
  return undefined;
});

scenario('import and walk: the IRC logs of a large channel, 247,000 lines, both ways, limits 7, 50, 200, and 1 in parts', { timeout: 1_200_000 }, async (s) => {
  const root = path.join(sharedData, 'irc-ubuntu-disentangled');
  const parse = await reference('irc');
  if (!fs.existsSync(root) || parse === null) return s.skip('no shared data');
  const args = ['--thread', 'ubuntu'];
  const expected = (await parse(root, { thread: 'ubuntu' })).get('ubuntu');
  const dir = s.dir();
  const first = await importInto(dir, 'irc', root, args);
  assert.equal(first.imported, expected.length);
  const server = await s.server([], { dir });
  const svc = await s.service(server);
  const reading = await walk(svc, 'load_older', 'ubuntu', { limit: 200 });
  assertSame(shown(reading.rows), wantedOf(expected), 'ubuntu');
  await everyLimit(svc, 'ubuntu', reading.rows, [7, 50, 200]);
  await oneByOne(s, server, reading.rows);
  await server.stop();
  const again = await importInto(dir, 'irc', root, args);
  assert.deepEqual([again.imported, again.updated], [0, 0]);
  return undefined;
});

// Limit 1 over the whole thread: WALKERS connections, each over its own stretch.
async function oneByOne(s, server, rows) {
  const step = Math.ceil(rows.length / WALKERS);
  const stretch = async (from) => {
    const client = await s.service(server);
    const part = rows.slice(from, from + step);
    let cursor;
    for (const [i, row] of part.entries()) {
      const place = cursor ? { cursor } : from === 0 ? {} : { after: rows[from - 1].seq };
      const page = await client.ok('load_newer', { thread: 'ubuntu', limit: 1, ...place });
      assert.deepEqual(seqs(page.messages), [row.seq], `row ${from + i}`);
      cursor = page.newer;
      assert.equal(cursor === null, from + i === rows.length - 1, 'nil at the end only');
    }
  };
  await Promise.all(Array.from({ length: WALKERS }, (_, i) => stretch(i * step)));
}
