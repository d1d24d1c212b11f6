// The page rule as traces: known rows in, exact pages out.
//
// Rows come in by an offline import, so that every (at, seq) is known beforehand.

import assert from 'node:assert/strict';
import { encode } from './lib/client.mjs';
import { scenario } from './lib/harness.mjs';
import { checkPage, matches, newerPages, olderPages, order, pageSeqs, seqs, walk } from './lib/pages.mjs';

const T0 = 1_700_000_000_000;
const PNG = { name: 'a.png', type: 'image/png', size: 10, url: 'https://files.example/a.png' };
const PDF = { name: 'b.pdf', type: 'application/pdf', size: 20, url: 'https://files.example/b.pdf' };

const plainRows = (n, step = 1000) =>
  Array.from({ length: n }, (_, i) => ({
    thread: 't',
    at: T0 + i * step,
    by: i % 2 ? 'bob' : 'alice',
    text: `m${i + 1}`,
    id: `id${i + 1}`,
  }));

// What the server holds after the import: seq in the order of the file.
const stored = (rows) => rows.map((row, i) => ({ ...row, seq: i + 1 })).sort(order);

async function serving(s, rows, args = []) {
  const dir = s.dir();
  await s.importRows(dir, rows);
  const server = await s.server(args, { dir });
  return { server, client: await s.session(server, 'alice') };
}

scenario('contract, page rule: eight messages, limit 3, older: [6 7 8] [3 4 5] [1 2] nil', async (s) => {
  const { client } = await serving(s, plainRows(8));
  const { pages } = await walk(client, 'load_older', 't', { limit: 3 });
  assert.deepEqual(pages.map(seqs), [[6, 7, 8], [3, 4, 5], [1, 2]]);
});

scenario('contract, page rule: eight messages, limit 3, newer: [1 2 3] [4 5 6] [7 8] nil', async (s) => {
  const { client } = await serving(s, plainRows(8));
  const { pages } = await walk(client, 'load_newer', 't', { limit: 3 });
  assert.deepEqual(pages.map(seqs), [[1, 2, 3], [4, 5, 6], [7, 8]]);
});

scenario('contract, page rule: limits 1, 2, 4, 7, 8, 9, 200 and the default, both ways', async (s) => {
  const rows = stored(plainRows(8));
  const { client } = await serving(s, plainRows(8));
  for (const limit of [1, 2, 4, 7, 8, 9, 200, undefined]) {
    const older = await walk(client, 'load_older', 't', { limit });
    assert.deepEqual(older.pages.map(seqs), olderPages(rows, limit ?? 50).map(seqs), `older, ${limit}`);
    const newer = await walk(client, 'load_newer', 't', { limit });
    assert.deepEqual(newer.pages.map(seqs), newerPages(rows, limit ?? 50).map(seqs), `newer, ${limit}`);
  }
});

scenario('contract, page rule: the default limit is 50', async (s) => {
  const { client } = await serving(s, plainRows(120));
  const { pages } = await walk(client, 'load_older', 't');
  assert.deepEqual(pages.map((page) => page.length), [50, 50, 20]);
});

scenario('contract, page rule: an empty thread is one empty page and nil', async (s) => {
  const server = await s.server();
  const svc = await s.service(server);
  await svc.ok('create_thread', { thread: 'empty', members: { alice: 'reader' } });
  const alice = await s.session(server, 'alice');
  for (const [op, next] of [['load_older', 'older'], ['load_newer', 'newer']]) {
    const page = await alice.ok(op, { thread: 'empty' });
    assert.deepEqual(page.messages, []);
    assert.equal(page[next], null);
  }
  const around = await alice.ok('load_around', { thread: 'empty', at: T0 });
  assert.deepEqual([around.messages, around.older, around.newer, around.found], [[], null, null, false]);
  const missing = await alice.ok('load_around', { thread: 'empty', seq: 1 });
  assert.deepEqual([missing.messages, missing.older, missing.newer, missing.found], [[], null, null, false]);
});

scenario('contract, order: ties and backdated rows lie in (at, seq), not in the order of writing', async (s) => {
  const rows = plainRows(30).map((row, i) => ({ ...row, at: T0 + ((i * 7) % 10) * 1000 }));
  const expected = stored(rows);
  const { client } = await serving(s, rows);
  for (const limit of [1, 2, 3, 10, 29, 30, 31]) {
    const older = await walk(client, 'load_older', 't', { limit });
    assert.deepEqual(older.pages.map(seqs), olderPages(expected, limit).map(seqs), `older, ${limit}`);
    const newer = await walk(client, 'load_newer', 't', { limit });
    assert.deepEqual(newer.pages.map(seqs), newerPages(expected, limit).map(seqs), `newer, ${limit}`);
  }
});

scenario('contract, load_around: halves by seq, filled from the other side, both walks complete', async (s) => {
  const rows = stored(plainRows(20));
  const { client } = await serving(s, plainRows(20));
  for (const limit of [1, 2, 3, 5, 10, 19, 20, 21]) {
    for (let centre = 1; centre <= 20; centre++) {
      const page = await client.ok('load_around', { thread: 't', seq: centre, limit });
      checkWindow(page, rows, centre, limit);
    }
  }
  for (const [centre, limit] of [[10, 5], [1, 3], [20, 3], [7, 1]]) {
    const page = await client.ok('load_around', { thread: 't', seq: centre, limit });
    const older = page.older ? (await walk(client, 'load_older', 't', { cursor: page.older, limit })).rows : [];
    const newer = page.newer ? (await walk(client, 'load_newer', 't', { cursor: page.newer, limit })).rows : [];
    assert.deepEqual(seqs([...older, ...page.messages, ...newer]), seqs(rows), `around ${centre}, limit ${limit}`);
  }
});

// The window holds the centre, is as full as it can be and lies evenly around it.
function checkWindow(page, rows, centre, limit) {
  const what = `around ${centre}, limit ${limit}: ${seqs(page.messages)}`;
  checkPage(page, 'load_around');
  assert.equal(page.found, true, what);
  assert.equal(page.messages.length, Math.min(limit, rows.length), what);
  const first = rows.findIndex((row) => row.seq === page.messages[0].seq);
  const last = first + page.messages.length - 1;
  assert.deepEqual(seqs(page.messages), seqs(rows.slice(first, last + 1)), what);
  const at = rows.findIndex((row) => row.seq === centre);
  const [before, after] = [at - first, last - at];
  assert.ok(before >= 0 && after >= 0, what);
  if (first > 0 && last < rows.length - 1) assert.ok(Math.abs(before - after) <= 1, what);
  if (first === 0 && last < rows.length - 1) assert.ok(before <= after + 1, what);
  if (last === rows.length - 1 && first > 0) assert.ok(after <= before + 1, what);
  assert.equal(page.older === null, first === 0, `${what}: older`);
  assert.equal(page.newer === null, last === rows.length - 1, `${what}: newer`);
}

scenario('contract, load_around: by time, the first row at or after it; past the end the newest rows', async (s) => {
  const rows = stored(plainRows(20));
  const { client } = await serving(s, plainRows(20));
  for (const [at, centre] of [[T0 + 9000, 10], [T0 + 8001, 10], [T0 + 9999, 11], [0, 1], [T0, 1]]) {
    const page = await client.ok('load_around', { thread: 't', at, limit: 5 });
    checkWindow(page, rows, centre, 5);
  }
  const past = await client.ok('load_around', { thread: 't', at: T0 + 19_001, limit: 5 });
  assert.equal(past.found, false);
  assert.deepEqual(seqs(past.messages), [16, 17, 18, 19, 20]);
  assert.equal(past.newer, null);
  const rest = await walk(client, 'load_older', 't', { cursor: past.older, limit: 5 });
  assert.deepEqual(seqs(rest.rows), seqs(rows.slice(0, 15)));
});

scenario('contract, load_around: a missing or filtered seq is found: false, no rows, no cursors', async (s) => {
  const { client } = await serving(s, plainRows(8));
  for (const fields of [{ seq: 99 }, { seq: 2, filter: { by: ['alice'] } }]) {
    const page = await client.ok('load_around', { thread: 't', ...fields });
    assert.deepEqual([page.messages, page.older, page.newer, page.found], [[], null, null, false]);
  }
  const page = await client.ok('load_around', { thread: 't', seq: 3, limit: 3, filter: { by: ['alice'] } });
  assert.deepEqual(seqs(page.messages), [1, 3, 5]);
  assert.equal(page.found, true);
});

scenario('contract, load_around: neither, both or a cursor → bad_request', async (s) => {
  const { client } = await serving(s, plainRows(3));
  await client.refused('bad_request', 'load_around', { thread: 't' });
  await client.refused('bad_request', 'load_around', { thread: 't', seq: 1, at: T0 });
});

scenario('contract, before and after: exclusive at that row, which need not match the filter', async (s) => {
  const rows = plainRows(9);
  const { client } = await serving(s, rows);
  const page = (op, fields) => pageSeqs(client, op, { thread: 't', limit: 3, ...fields });
  assert.deepEqual(await page('load_older', { before: 5 }), [2, 3, 4]);
  assert.deepEqual(await page('load_older', { before: 1 }), []);
  assert.deepEqual(await page('load_newer', { after: 5 }), [6, 7, 8]);
  assert.deepEqual(await page('load_newer', { after: 9 }), []);
  assert.deepEqual(await page('load_older', { before: 6, filter: { by: ['alice'] } }), [1, 3, 5]);
  assert.deepEqual(await page('load_newer', { after: 2, filter: { by: ['alice'] } }), [3, 5, 7]);
  for (const [op, field] of [['load_older', 'before'], ['load_newer', 'after']]) {
    await client.refused('not_found', op, { thread: 't', [field]: 10 });
    const first = await client.ok(op, { thread: 't', limit: 3 });
    const cursor = first.older ?? first.newer;
    await client.refused('bad_request', op, { thread: 't', cursor, [field]: 5 });
  }
  const walked = await walk(client, 'load_older', 't', { first: { before: 8 }, limit: 2 });
  assert.deepEqual(walked.pages.map(seqs), [[6, 7], [4, 5], [2, 3], [1]]);
});

// 60 rows with authors, kinds, attachments, links and replies in a fixed mix.
function mixedRows() {
  return Array.from({ length: 60 }, (_, i) => {
    const row = { thread: 't', at: T0 + Math.floor(i / 3) * 1000, by: ['alice', 'bob', 'carol'][i % 3], text: `m${i + 1}`, id: `id${i + 1}` };
    if (i % 5 === 0) row.kind = 'join';
    if (i % 7 === 0) row.attachments = [PNG];
    if (i % 11 === 0) row.attachments = [...(row.attachments ?? []), PDF];
    if (i % 6 === 0) row.text = `see http://example.org/${i}`;
    if (i % 10 === 9) row.text = `see https://example.org/${i}`;
    if (i % 4 === 3) row.reply_to_id = `id${i - 1}`;
    if (i > 20 && i % 9 === 0) row.reply_to_id = 'id3';
    return row;
  });
}

const FILTERS = [
  undefined,
  { by: ['alice'] },
  { by: ['alice', 'carol'] },
  { by: ['nobody'] },
  { kind: ['join'] },
  { kind: ['message'] },
  { kind: ['message', 'join'] },
  { has: ['attachment'] },
  { has: ['image'] },
  { has: ['file'] },
  { has: ['link'] },
  { has: ['reply'] },
  { has: ['image', 'link'] },
  { thread_of: 3 },
  { thread_of: 59 },
  { from: T0 + 5000 },
  { to: T0 + 5000 },
  { from: T0 + 3000, to: T0 + 4000 },
  { from: T0 + 4000, to: T0 + 4000 },
  { by: ['bob'], kind: ['message'], from: T0 + 2000 },
  { by: ['bob', 'carol'], has: ['link', 'reply'], to: T0 + 15_000 },
  { thread_of: 3, by: ['alice'] },
];

scenario('contract, filter: by, kind, has, thread_of, from, to and their combinations, every page full', async (s) => {
  const raw = mixedRows();
  const bySource = new Map(raw.map((row, i) => [row.id, i + 1]));
  const rows = stored(raw.map((row) => ({ ...row, reply_to: bySource.get(row.reply_to_id) })));
  const { client } = await serving(s, raw);
  for (const filter of FILTERS) {
    const expected = rows.filter((row) => matches(row, filter));
    for (const limit of [1, 3, 50]) {
      const what = `${JSON.stringify(filter)}, limit ${limit}`;
      const older = await walk(client, 'load_older', 't', { limit, filter });
      assert.deepEqual(older.pages.map(seqs), olderPages(expected, limit).map(seqs), `older, ${what}`);
      const newer = await walk(client, 'load_newer', 't', { limit, filter });
      assert.deepEqual(newer.pages.map(seqs), newerPages(expected, limit).map(seqs), `newer, ${what}`);
    }
  }
});

scenario('contract, filter: equivalent filters are equal on every page of a walk', async (s) => {
  const { client } = await serving(s, mixedRows());
  const groups = [
    [undefined, null, {}, { by: [] }, { by: null, has: [] }, { kind: [], from: null }, { text: '' }],
    [{ by: ['alice', 'bob'] }, { by: ['bob', 'alice'] }, { by: ['bob', 'bob', 'alice'] }, { by: ['alice', 'bob'], has: [] }],
    [{ has: ['link', 'reply'], kind: ['message'] }, { kind: ['message', 'message'], has: ['reply', 'link', 'reply'], to: null }],
  ];
  for (const group of groups) {
    for (const first of group) {
      const page = await client.ok('load_older', { thread: 't', limit: 2, filter: first });
      const expected = await pageSeqs(client, 'load_older', { thread: 't', limit: 2, filter: first, cursor: page.older });
      for (const other of group) {
        const got = await pageSeqs(client, 'load_older', { thread: 't', limit: 2, filter: other, cursor: page.older });
        assert.deepEqual(got, expected, `${JSON.stringify(first)} then ${JSON.stringify(other)}`);
      }
    }
  }
});

scenario('contract, filter: unknown fields, wrong types and unknown has → bad_request', async (s) => {
  const { client } = await serving(s, plainRows(3));
  const bad = [
    { colour: ['red'] },
    { by: 'alice' },
    { by: [1] },
    { has: ['colour'] },
    { has: 'link' },
    { thread_of: 'one' },
    { from: -1 },
    { to: '2020-01-01' },
    { by: Array.from({ length: 33 }, (_, i) => `user${i}`) },
    'by:alice',
    [],
    7,
  ];
  for (const filter of bad) await client.refused('bad_request', 'load_older', { thread: 't', filter });
  await client.ok('load_older', { thread: 't' });
});

scenario('hostile, limit: 0, -1, 201, 2^31, 2^64-1, "50", 50.0, true → bad_request, connection kept', async (s) => {
  const { client } = await serving(s, plainRows(3));
  for (const limit of [0, -1, 201, 2 ** 31, 2n ** 64n - 1n, '50', true, [], {}]) {
    for (const op of ['load_older', 'load_newer']) await client.refused('bad_request', op, { thread: 't', limit });
    await client.refused('bad_request', 'load_around', { thread: 't', seq: 1, limit });
    await client.refused('bad_request', 'threads', { limit });
    await client.refused('bad_request', 'members', { thread: 't', limit });
  }
  // 50.0: the encoder writes whole numbers as integers, so the float is spliced in.
  const marker = Buffer.from('LIMIT');
  const bytes = Buffer.from(encode({ op: 'load_older', id: 9001, thread: 't', limit: 'LIMIT' }));
  const at = bytes.lastIndexOf(marker) - 1;
  const float = Buffer.alloc(9);
  float[0] = 0xcb;
  float.writeDoubleBE(50, 1);
  const reply = await client.requestRaw(Buffer.concat([bytes.subarray(0, at), float, bytes.subarray(at + 6)]), 9001);
  assert.equal(reply.error?.code, 'bad_request');
  assert.deepEqual(await pageSeqs(client, 'load_older', { thread: 't', limit: null }), [1, 2, 3], 'nil is absent');
});

scenario('contract, limit may differ between the pages of a walk', async (s) => {
  const rows = stored(plainRows(40));
  const { client } = await serving(s, plainRows(40));
  const limits = [1, 7, 2, 200];
  const older = await walk(client, 'load_older', 't', { limit: (i) => limits[i] });
  assert.deepEqual(older.pages.map((page) => page.length), [1, 7, 2, 30]);
  assert.deepEqual(seqs(older.rows), seqs(rows));
  const newer = await walk(client, 'load_newer', 't', { limit: (i) => limits[i] });
  assert.deepEqual(newer.pages.map((page) => page.length), [1, 7, 2, 30]);
  assert.deepEqual(seqs(newer.rows), seqs(rows));
});

scenario('contract, page_bytes: short pages with a non-nil cursor, at least one row, nothing lost', async (s) => {
  const raw = plainRows(60).map((row, i) => ({ ...row, text: `${i + 1} `.padEnd(i === 30 ? 40_000 : 900, 'x') }));
  const rows = stored(raw);
  const { client } = await serving(s, raw, ['--page-bytes', '8192']);
  assert.equal(client.welcome.limits.page_bytes, 8192);
  for (const op of ['load_older', 'load_newer']) {
    const { pages, rows: walked } = await walk(client, op, 't', { limit: 50 });
    assert.deepEqual(seqs(walked), seqs(rows), op);
    assert.ok(pages.length >= 60 / 9 + 1, `${op}: ${pages.length} pages`);
    for (const page of pages) {
      assert.ok(page.length >= 1, 'at least one row');
      const bytes = page.reduce((sum, row) => sum + encode(row).length, 0);
      assert.ok(page.length === 1 || bytes <= 8192, `${op}: ${bytes} bytes in ${page.length} rows`);
    }
    const full = pages.slice(0, -1).filter((page) => page.length > 1 && !page.some((row) => row.text.length > 900));
    for (const page of full.slice(0, 2)) assert.ok(page.length >= 7, `${op}: a page of ${page.length} rows is not full`);
  }
  const around = await client.ok('load_around', { thread: 't', seq: 20, limit: 50 });
  assert.ok(around.messages.some((row) => row.seq === 20));
  const older = await walk(client, 'load_older', 't', { cursor: around.older });
  const newer = await walk(client, 'load_newer', 't', { cursor: around.newer });
  assert.deepEqual(seqs([...older.rows, ...around.messages, ...newer.rows]), seqs(rows));
});

scenario('contract, snapshot: posts during a walk do not enter it, and stand in the next', async (s) => {
  const server = await s.server();
  const svc = await s.service(server);
  await svc.ok('create_thread', { thread: 't', members: { alice: 'writer' } });
  const alice = await s.session(server, 'alice');
  for (let i = 1; i <= 10; i++) await alice.ok('post', { thread: 't', text: `m${i}` });
  const between = () => alice.ok('post', { thread: 't', text: 'late' });
  const newer = await walk(alice, 'load_newer', 't', { limit: 3, between });
  assert.deepEqual(seqs(newer.rows), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  const older = await walk(alice, 'load_older', 't', { limit: 3, between });
  assert.deepEqual(seqs(older.rows), Array.from({ length: 13 }, (_, i) => i + 1));
});

scenario('contract, post: seq is dense, at never goes back, the row is as posted', async (s) => {
  const server = await s.server();
  const svc = await s.service(server);
  const begun = Date.now();
  await svc.ok('create_thread', { thread: 't', title: 'Tea', members: { alice: 'writer' } });
  const alice = await s.session(server, 'alice');
  const posts = await Promise.all(
    Array.from({ length: 50 }, (_, i) => alice.ok('post', { thread: 't', text: `m${i + 1}` })),
  );
  assert.deepEqual(seqs(posts), Array.from({ length: 50 }, (_, i) => i + 1), 'in the order sent');
  for (let i = 1; i < posts.length; i++) {
    assert.ok(posts[i].at >= posts[i - 1].at);
    assert.ok(posts[i].version > posts[i - 1].version);
  }
  assert.ok(posts[0].at >= begun && posts.at(-1).at <= Date.now());
  const full = await alice.ok('post', {
    thread: 't', text: 'with all', kind: 'note', reply_to: 7, mentions: ['bob'], attachments: [PNG], meta: { colour: 'red', n: [1, 2] },
  });
  const page = await alice.ok('load_older', { thread: 't', limit: 1 });
  checkPage(page, 'load_older');
  const row = page.messages[0];
  assert.deepEqual(
    { ...row },
    { seq: full.seq, at: full.at, by: 'alice', text: 'with all', version: full.version, kind: 'note', reply_to: 7, mentions: ['bob'], attachments: [PNG], meta: { colour: 'red', n: [1, 2] } },
  );
  assert.ok(page.version >= full.version, 'a reply is sent after its change can be read');
});

scenario('contract, post: refusals by form and size', async (s) => {
  const server = await s.server();
  const svc = await s.service(server);
  await svc.ok('create_thread', { thread: 't', members: { alice: 'writer' } });
  const alice = await s.session(server, 'alice');
  const post = (fields) => alice.request('post', { thread: 't', text: 'x', ...fields });
  const code = async (fields) => (await post(fields)).error?.code;
  assert.equal(await code({ text: '' }), 'bad_request');
  assert.equal(await code({ text: undefined }), 'bad_request');
  assert.equal(await code({ text: 5 }), 'bad_request');
  assert.equal(await code({ text: 'y'.repeat(48 * 1024 + 1) }), 'too_large');
  assert.equal(await code({ reply_to: 99 }), 'not_found');
  assert.equal(await code({ reply_to: 'one' }), 'bad_request');
  assert.ok(['bad_request', 'too_large'].includes(await code({ nonce: 'n'.repeat(65) })));
  assert.equal(await code({ mentions: 'bob' }), 'bad_request');
  assert.equal(await code({ attachments: [{ name: 'a' }] }), 'bad_request');
  assert.equal(await code({ meta: 'red' }), 'bad_request');
  assert.equal(await code({ text: 'y'.repeat(48 * 1024) }), undefined);
  assert.equal(await code({ text: '', attachments: [PDF] }), undefined);
  assert.deepEqual(await pageSeqs(alice, 'load_older', { thread: 't' }), [1, 2], 'nothing of the refused ones');
});

scenario('GetStream/stream-chat-react#2331: the same nonce twice is one row with one seq', async (s) => {
  const server = await s.server();
  const svc = await s.service(server);
  await svc.ok('create_thread', { thread: 't', members: { alice: 'writer', bob: 'writer' } });
  await svc.ok('create_thread', { thread: 'u', members: { alice: 'writer' } });
  const alice = await s.session(server, 'alice');
  const first = await alice.ok('post', { thread: 't', text: 'once', nonce: 'n1' });
  assert.equal(first.duplicate, undefined);
  const again = await alice.ok('post', { thread: 't', text: 'another text', nonce: 'n1' });
  assert.deepEqual([again.seq, again.at, again.version, again.duplicate], [first.seq, first.at, first.version, true]);
  const pipelined = await Promise.all([1, 2, 3].map(() => alice.ok('post', { thread: 't', text: 'p', nonce: 'n2' })));
  assert.deepEqual(pipelined.map((reply) => [reply.seq, reply.duplicate]), [[2, undefined], [2, true], [2, true]]);
  const bob = await s.session(server, 'bob');
  assert.equal((await bob.ok('post', { thread: 't', text: 'bob', nonce: 'n1' })).duplicate, undefined, 'another user');
  assert.equal((await alice.ok('post', { thread: 'u', text: 'u', nonce: 'n1' })).duplicate, undefined, 'another thread');
  await server.stop();
  await server.start();
  const back = await s.session(server, 'alice');
  const late = await back.ok('post', { thread: 't', text: 'once', nonce: 'n1' });
  assert.deepEqual([late.seq, late.duplicate], [first.seq, true], 'over a restart');
  assert.deepEqual(await pageSeqs(back, 'load_older', { thread: 't' }), [1, 2, 3]);
});
