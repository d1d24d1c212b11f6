// The binding matrix: a cursor is worth nothing outside its walk.
//
// Every wrong use gives one reply, `invalid_cursor`, the same bytes whatever the cause;
// what a thread's access decides comes first, and form comes before both.

import assert from 'node:assert/strict';
import { scenario } from './lib/harness.mjs';
import { pageSeqs, seqs, walk } from './lib/pages.mjs';
import { runOk } from './lib/server.mjs';

const ID = 4242; // one id for all compared requests, so that replies can be equal bytes
const N = 12;

// Threads t and u of tenant default and t of tenant other, alice and bob in all.
async function house(s, args = []) {
  const server = await s.server(args);
  const svc = await s.service(server);
  const members = { alice: 'writer', bob: 'writer' };
  await svc.ok('create_thread', { thread: 't', members });
  await svc.ok('create_thread', { thread: 'u', members });
  const other = await s.service(server, 'other');
  await other.ok('create_thread', { thread: 't', members });
  const alice = await s.session(server, 'alice');
  for (const thread of ['t', 'u']) {
    for (let i = 1; i <= N; i++) await alice.ok('post', { thread, text: `m${i}` });
  }
  const elsewhere = await s.session(server, { user: 'alice', tenant: 'other' });
  for (let i = 1; i <= N; i++) await elsewhere.ok('post', { thread: 't', text: `o${i}` });
  return { server, svc, alice, elsewhere };
}

async function cursorOf(client, op = 'load_older', fields = {}) {
  const page = await client.ok(op, { thread: 't', limit: 3, ...fields });
  const cursor = page.older ?? page.newer ?? page.next;
  assert.ok(cursor instanceof Uint8Array, 'a cursor');
  return Buffer.from(cursor);
}

const present = (client, cursor, { op = 'load_older', ...fields } = {}) =>
  client.request(op, { thread: 't', limit: 3, cursor, ...fields }, { id: ID });

async function refusedRaw(client, cursor, fields) {
  const reply = await present(client, cursor, fields);
  assert.equal(reply.error?.code, 'invalid_cursor', JSON.stringify(Object.keys(reply)));
  return reply.raw;
}

scenario('Mnexa-AI/e2a#782, xxh3898/homeops#89: the binding matrix, one refusal for all of it', async (s) => {
  const { server, alice, elsewhere } = await house(s);
  const bob = await s.session(server, 'bob');
  const second = await s.session(server, 'alice');
  const cursor = await cursorOf(alice);
  const filtered = await cursorOf(alice, 'load_older', { filter: { by: ['alice'] } });
  const newer = await cursorOf(alice, 'load_newer');
  const threads = Buffer.from((await alice.ok('threads', { limit: 1 })).next);
  const members = Buffer.from((await alice.ok('members', { thread: 't', limit: 1 })).next);
  const cases = {
    'another thread': [alice, cursor, { thread: 'u' }],
    'a filter that the walk has not': [alice, cursor, { filter: { by: ['alice'] } }],
    'without the filter that the walk has': [alice, filtered, {}],
    'another filter': [alice, filtered, { filter: { by: ['bob'] } }],
    'a filter with one entry more': [alice, filtered, { filter: { by: ['alice', 'bob'] } }],
    'another kind of filter': [alice, filtered, { filter: { kind: ['alice'] } }],
    'an older cursor in load_newer': [alice, cursor, { op: 'load_newer' }],
    'a newer cursor in load_older': [alice, newer, {}],
    'another user': [bob, cursor, {}],
    'another session of the same user': [second, cursor, {}],
    'the same user in another tenant': [elsewhere, cursor, {}],
    'a cursor of threads in load_older': [alice, threads, {}],
    'a cursor of members in load_older': [alice, members, {}],
    'a cursor of members in load_newer': [alice, members, { op: 'load_newer' }],
    'a cursor of load_older in members': [alice, cursor, { op: 'members' }],
    'a cursor of threads in members': [alice, threads, { op: 'members' }],
    'a cursor of load_older in threads': [alice, cursor, { op: 'threads' }],
    'a cursor of members in threads': [alice, members, { op: 'threads' }],
    'a cursor of members of another thread': [alice, members, { op: 'members', thread: 'u' }],
    'an empty bin': [alice, Buffer.alloc(0), {}],
    'one byte': [alice, Buffer.from([1]), {}],
    '96 zero bytes': [alice, Buffer.alloc(96), {}],
    truncated: [alice, cursor.subarray(0, cursor.length - 1), {}],
    extended: [alice, Buffer.concat([cursor, Buffer.from([0])]), {}],
  };
  let expected;
  for (const [what, [client, bytes, fields]] of Object.entries(cases)) {
    const raw = await refusedRaw(client, bytes, fields);
    expected ??= raw;
    assert.deepEqual(raw, expected, `${what}: other bytes`);
  }
  assert.deepEqual(await pageSeqs(alice, 'load_older', { thread: 't', limit: 3, cursor }), [7, 8, 9], 'still good where it belongs');
  assert.deepEqual(
    await pageSeqs(alice, 'load_older', { thread: 't', limit: 3, cursor: filtered, filter: { by: ['alice'] } }),
    [7, 8, 9],
  );
});

scenario('xxh3898/homeops#89: each single bit of a cursor flipped is refused alike', async (s) => {
  const { alice } = await house(s);
  const cursor = await cursorOf(alice);
  const expected = await refusedRaw(alice, Buffer.alloc(0));
  for (let bit = 0; bit < cursor.length * 8; bit++) {
    const forged = Buffer.from(cursor);
    forged[bit >> 3] ^= 1 << (bit & 7);
    assert.deepEqual(await refusedRaw(alice, forged), expected, `bit ${bit}`);
  }
  for (let length = 0; length < cursor.length; length++) {
    assert.deepEqual(await refusedRaw(alice, cursor.subarray(0, length)), expected, `first ${length} bytes`);
  }
  for (let extra = 1; cursor.length + extra <= 96; extra++) {
    assert.deepEqual(await refusedRaw(alice, Buffer.concat([cursor, Buffer.alloc(extra)])), expected, `+${extra}`);
  }
  assert.deepEqual(await pageSeqs(alice, 'load_older', { thread: 't', limit: 3, cursor }), [7, 8, 9]);
});

scenario('chatwoot/chatwoot#15400: absurd cursors: not a bin or over 96 bytes → bad_request, connection lives', async (s) => {
  const { alice } = await house(s);
  const absurd = ['', 'text', 0, 1, -1, 2n ** 62n, 1.5, true, [], {}, [1, 2], Buffer.alloc(97), Buffer.alloc(10_240)];
  for (const op of ['load_older', 'load_newer', 'threads', 'members']) {
    for (const cursor of absurd) await alice.refused('bad_request', op, { thread: 't', cursor });
    await alice.refused('invalid_cursor', op, { thread: 't', cursor: Buffer.alloc(0) });
    await alice.refused('invalid_cursor', op, { thread: 't', cursor: Buffer.alloc(96, 0xff) });
  }
  assert.deepEqual(await pageSeqs(alice, 'load_older', { thread: 't', limit: 2, cursor: null }), [11, 12], 'nil is absent');
});

scenario('contract, cursors: a replay gives the same rows, also twice at once and with another limit', async (s) => {
  const { alice } = await house(s);
  const cursor = await cursorOf(alice);
  const fields = { thread: 't', limit: 3, cursor };
  const [a, b] = await Promise.all([alice.ok('load_older', fields), alice.ok('load_older', fields)]);
  assert.deepEqual(seqs(a.messages), [7, 8, 9]);
  assert.deepEqual(b.messages, a.messages);
  await alice.ok('post', { thread: 't', text: 'later' });
  assert.deepEqual((await alice.ok('load_older', fields)).messages, a.messages);
  assert.deepEqual(await pageSeqs(alice, 'load_older', { ...fields, limit: 5 }), [5, 6, 7, 8, 9]);
  for (const page of [a, b]) {
    assert.deepEqual(await pageSeqs(alice, 'load_older', { ...fields, cursor: page.older }), [4, 5, 6]);
  }
});

scenario('contract, cursors: expired is refused, the walk that goes on in time is not', { timeout: 60_000 }, async (s) => {
  const { alice } = await house(s, ['--cursor-ttl', '2s']);
  const expected = await refusedRaw(alice, Buffer.alloc(0));
  const cursor = await cursorOf(alice);
  const issued = Date.now();
  assert.deepEqual(await pageSeqs(alice, 'load_older', { thread: 't', limit: 3, cursor }), [7, 8, 9]);
  const reply = await untilRefused(alice, cursor, issued + 4_000);
  const after = Date.now() - issued;
  assert.ok(after >= 1_990, `refused ${after} ms after it was issued`);
  assert.deepEqual(reply.raw, expected);
});

scenario('contract, cursors: snapshot-ttl ends a walk however young its newest cursor is', { timeout: 60_000 }, async (s) => {
  const { alice } = await house(s, ['--cursor-ttl', '10s', '--snapshot-ttl', '3s']);
  const begun = Date.now();
  let cursor = await cursorOf(alice);
  const page = await alice.ok('load_older', { thread: 't', limit: 3, cursor });
  cursor = page.older;
  await untilRefused(alice, cursor, begun + 6_000);
  assert.ok(Date.now() - begun >= 2_990);
});

// Presents the cursor until it is refused; fails if it still works at the deadline.
async function untilRefused(client, cursor, deadline) {
  for (;;) {
    const reply = await present(client, cursor);
    if (reply.error) {
      assert.equal(reply.error.code, 'invalid_cursor');
      return reply;
    }
    assert.ok(Date.now() < deadline, 'the cursor outlived its time');
  }
}

// Loads until new cursors carry another key id than this one, so a reload was taken.
async function untilNewKey(client, cursor) {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const fresh = await cursorOf(client);
    if (!fresh.subarray(0, 2).equals(cursor.subarray(0, 2))) return fresh;
    if (fresh.length >= 5 && !fresh.subarray(0, 5).equals(cursor.subarray(0, 5))) return fresh;
    assert.ok(Date.now() < deadline, 'the rotated key was not taken');
  }
}

scenario('openclaw/openclaw#133186: rotation keeps old cursors valid, a dropped key ends them', async (s) => {
  const { server, alice } = await house(s);
  const expected = await refusedRaw(alice, Buffer.alloc(0));
  const cursor = await cursorOf(alice);
  await runOk(['keys', 'rotate', '--data', server.dir]);
  server.hangup();
  const fresh = await untilNewKey(alice, cursor);
  assert.deepEqual(await pageSeqs(alice, 'load_older', { thread: 't', limit: 3, cursor }), [7, 8, 9], 'the previous key');
  await runOk(['keys', 'drop', '1', '--data', server.dir]);
  server.hangup();
  const reply = await untilRefused(alice, cursor, Date.now() + 10_000);
  assert.deepEqual(reply.raw, expected);
  assert.deepEqual(await pageSeqs(alice, 'load_older', { thread: 't', limit: 3, cursor: fresh }), [7, 8, 9], 'the new key');
});

scenario('hostile, cursors: the 65th cursor of one walk evicts the 1st, not the 2nd', async (s) => {
  const { alice } = await house(s);
  const cursors = [];
  let cursor = await cursorOf(alice, 'load_older', { limit: 1 });
  cursors.push(cursor);
  for (let i = cursors.length; i < 11; i++) {
    cursor = Buffer.from((await alice.ok('load_older', { thread: 't', limit: 1, cursor })).older);
    cursors.push(cursor);
  }
  // Replays issue further cursors of the same walk.
  while (cursors.length < 64) {
    cursors.push(Buffer.from((await alice.ok('load_older', { thread: 't', limit: 1, cursor: cursors[9] })).older));
  }
  await alice.ok('load_older', { thread: 't', limit: 1, cursor: cursors[9] });
  const expected = await refusedRaw(alice, Buffer.alloc(0));
  assert.deepEqual(await refusedRaw(alice, cursors[0], { limit: 1 }), expected);
  assert.deepEqual(await pageSeqs(alice, 'load_older', { thread: 't', limit: 1, cursor: cursors[1] }), [10]);
});

scenario('hostile, cursors: 64 pages of one walk do not evict the resting cursor of another', async (s) => {
  const { alice } = await house(s);
  for (let i = N + 1; i <= 200; i++) await alice.ok('post', { thread: 't', text: `m${i}` });
  const resting = await cursorOf(alice, 'load_older', { thread: 'u' });
  const list = Buffer.from((await alice.ok('threads', { limit: 1 })).next);
  const long = await walk(alice, 'load_newer', 't', { limit: 1 });
  assert.equal(long.rows.length, 200);
  assert.deepEqual(await pageSeqs(alice, 'load_older', { thread: 'u', limit: 3, cursor: resting }), [7, 8, 9]);
  const rest = await alice.ok('threads', { limit: 1, cursor: list });
  assert.deepEqual(rest.threads.map((one) => one.thread).length, 1);
});

scenario('contract, cursors: 65 walks of one session: the least recently used goes, the others stay', async (s) => {
  const { alice } = await house(s);
  const cursors = [];
  for (let i = 0; i < 64; i++) cursors.push(await cursorOf(alice));
  assert.deepEqual(await pageSeqs(alice, 'load_older', { thread: 't', limit: 200, cursor: cursors[0] }), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  cursors.push(await cursorOf(alice));
  assert.deepEqual(await refusedRaw(alice, cursors[1]), await refusedRaw(alice, Buffer.alloc(0)));
  for (const cursor of [cursors[0], cursors[2], cursors[64]]) {
    assert.deepEqual(await pageSeqs(alice, 'load_older', { thread: 't', limit: 200, cursor }), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  }
});

scenario('contract, cursors: sixty-five sessions do not evict one another', async (s) => {
  const { server, alice } = await house(s);
  const cursor = await cursorOf(alice);
  for (let i = 0; i < 65; i++) {
    const other = await s.session(server, 'alice');
    await cursorOf(other);
    await other.close();
  }
  assert.deepEqual(await pageSeqs(alice, 'load_older', { thread: 't', limit: 3, cursor }), [7, 8, 9]);
});

scenario('contract, cursors: membership lost → forbidden, decided before the cursor; back under history all → good', async (s) => {
  const { svc, alice } = await house(s);
  const cursor = await cursorOf(alice);
  await svc.ok('set_member', { thread: 't', user: 'alice', role: null });
  const lost = await present(alice, cursor);
  assert.equal(lost.error?.code, 'forbidden');
  for (const bytes of [Buffer.alloc(0), Buffer.alloc(96), cursor.subarray(1)]) {
    assert.deepEqual((await present(alice, bytes)).raw, lost.raw, 'access comes before the cursor');
  }
  await svc.ok('set_member', { thread: 't', user: 'alice', role: 'reader' });
  assert.deepEqual(await pageSeqs(alice, 'load_older', { thread: 't', limit: 3, cursor }), [7, 8, 9]);
  await svc.ok('set_member', { thread: 't', user: 'alice', role: 'moderator' });
  assert.deepEqual(await pageSeqs(alice, 'load_older', { thread: 't', limit: 3, cursor }), [7, 8, 9], 'a change of role');
});

scenario('contract, cursors: a new join position under since_join ends the old cursors', async (s) => {
  const server = await s.server();
  const svc = await s.service(server);
  await svc.ok('create_thread', { thread: 'j', history: 'since_join', members: { alice: 'writer' } });
  const alice = await s.session(server, 'alice');
  for (let i = 1; i <= N; i++) await alice.ok('post', { thread: 'j', text: `m${i}` });
  const cursor = await cursorOf(alice, 'load_older', { thread: 'j' });
  await svc.ok('set_member', { thread: 'j', user: 'alice', role: 'reader' });
  assert.deepEqual(await pageSeqs(alice, 'load_older', { thread: 'j', limit: 3, cursor }), [7, 8, 9], 'a change of role');
  await svc.ok('set_member', { thread: 'j', user: 'alice', role: null });
  assert.equal((await present(alice, cursor, { thread: 'j' })).error?.code, 'forbidden');
  await svc.ok('set_member', { thread: 'j', user: 'alice', role: 'writer' });
  const gone = await refusedRaw(alice, cursor, { thread: 'j' });
  assert.deepEqual(gone, await refusedRaw(alice, Buffer.alloc(0), { thread: 'j' }));
  assert.deepEqual(await pageSeqs(alice, 'load_older', { thread: 'j' }), []);
});

scenario('contract, cursors: load_around gives two walks, each bound to its own direction', async (s) => {
  const { alice } = await house(s);
  const page = await alice.ok('load_around', { thread: 't', seq: 6, limit: 3 });
  assert.deepEqual(seqs(page.messages), [5, 6, 7]);
  const expected = await refusedRaw(alice, Buffer.alloc(0));
  assert.deepEqual(await refusedRaw(alice, page.older, { op: 'load_newer' }), expected);
  assert.deepEqual(await refusedRaw(alice, page.newer, { op: 'load_older' }), expected);
  assert.deepEqual(await pageSeqs(alice, 'load_older', { thread: 't', cursor: page.older }), [1, 2, 3, 4]);
  assert.deepEqual(await pageSeqs(alice, 'load_newer', { thread: 't', cursor: page.newer }), [8, 9, 10, 11, 12]);
});

scenario('contract, cursors: opaque: no name, text or time of the walk can be read in one', async (s) => {
  const { alice } = await house(s);
  const thread = 'a-very-readable-thread-name';
  const svcMade = await s.service(s.servers[0]);
  await svcMade.ok('create_thread', { thread, members: { alice: 'writer' } });
  for (let i = 0; i < 4; i++) await alice.ok('post', { thread, text: 'readable text' });
  const page = await alice.ok('load_older', { thread, limit: 1, filter: { by: ['alice'] } });
  const bytes = Buffer.from(page.older);
  for (const word of ['readable', 'thread', 'alice', 'default']) assert.equal(bytes.includes(word), false, word);
  const at = Buffer.alloc(8);
  at.writeBigUInt64BE(BigInt(page.messages[0].at));
  assert.equal(bytes.includes(at.subarray(2)), false, 'the position');
  const again = await alice.ok('load_older', { thread, limit: 1, filter: { by: ['alice'] } });
  assert.notDeepEqual(Buffer.from(again.older), bytes, 'two walks, two handles');
});
