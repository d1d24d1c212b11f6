// The field's own bugs, replayed: each scenario is named by the report that it comes from.
//
// Here are those of paging and access that need no live events and no edits.

import assert from 'node:assert/strict';
import { scenario } from './lib/harness.mjs';
import { olderPages, order, pageSeqs, seqs, walk } from './lib/pages.mjs';
import { Rand, newSeed } from './lib/rand.mjs';

const T0 = 1_700_000_000_000;
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

const row = (i, at, extra = {}) => ({ thread: 't', at, by: 'alice', text: `m${i}`, id: `id${i}`, ...extra });

async function serving(s, rows, args) {
  const dir = s.dir();
  await s.importRows(dir, rows);
  const server = await s.server(args, { dir });
  return { dir, server, alice: await s.session(server, 'alice') };
}

scenario('RocketChat/Rocket.Chat#41947, stella/stella#759: five messages in one ms, limit 2: [4 5] [2 3] [1]', async (s) => {
  const { alice } = await serving(s, range(1, 5).map((i) => row(i, T0)));
  const older = await walk(alice, 'load_older', 't', { limit: 2 });
  assert.deepEqual(older.pages.map(seqs), [[4, 5], [2, 3], [1]]);
  const newer = await walk(alice, 'load_newer', 't', { limit: 2 });
  assert.deepEqual(newer.pages.map(seqs), [[1, 2], [3, 4], [5]]);
});

scenario('RocketChat/Rocket.Chat#41947, stella/stella#759: 45 in one ms, limit 20: 20 + 20 + 5', async (s) => {
  const { alice } = await serving(s, range(1, 45).map((i) => row(i, T0)));
  const { pages, rows } = await walk(alice, 'load_older', 't', { limit: 20 });
  assert.deepEqual(pages.map((page) => page.length), [20, 20, 5]);
  assert.deepEqual(seqs(rows), range(1, 45));
});

scenario('chatwoot/chatwoot#13869: a row imported with an older time stands in its place', async (s) => {
  const { dir, server, alice } = await serving(s, range(1, 6).map((i) => row(i, T0 + i * 1000)));
  assert.deepEqual(seqs((await walk(alice, 'load_older', 't', { limit: 2 })).rows), range(1, 6));
  await server.stop();
  const late = { thread: 't', by: 'bob', text: 'backdated' };
  const summary = await s.importRows(dir, [
    { ...late, at: T0 + 2500, id: 'late1' },
    { ...late, at: T0, id: 'late2' },
    { ...late, at: T0 + 3000, id: 'late3' },
  ]);
  assert.match(summary, /imported 3 messages, 0 updated, 0 skipped, 1 threads?\s*$/);
  await server.start();
  const back = await s.session(server, 'alice');
  for (const limit of [1, 2, 3, 9, 10]) {
    const { rows } = await walk(back, 'load_older', 't', { limit });
    assert.deepEqual(seqs(rows), [8, 1, 2, 7, 3, 9, 4, 5, 6], `limit ${limit}`);
  }
});

scenario('NorthlandPositronics/Cogtrix#313, processone/ejabberd#2924: a bad cursor is an error, never rows', async (s) => {
  const { server, alice } = await serving(s, range(1, 9).map((i) => row(i, T0 + i)));
  const good = Buffer.from((await alice.ok('load_older', { thread: 't', limit: 3 })).older);
  const forged = Buffer.from(good);
  forged[forged.length - 1] ^= 1;
  const bob = await s.session(server, { user: 'svc2', service: true });
  for (const [client, cursor] of [[alice, forged], [alice, Buffer.alloc(0)], [alice, Buffer.from('page1')], [bob, good]]) {
    for (const op of ['load_older', 'load_newer']) {
      const reply = await client.refused('invalid_cursor', op, { thread: 't', cursor, limit: 3 });
      assert.equal(reply.messages, undefined);
    }
  }
});

scenario('RocketChat/Rocket.Chat#18578, nextcloud/talk-android#6714: 500 joins between two messages, kind filter, limit 20: both, then the end', async (s) => {
  const rows = range(1, 502).map((i) => row(i, T0 + i, i === 1 || i === 502 ? {} : { kind: 'join' }));
  const { alice } = await serving(s, rows);
  for (const op of ['load_older', 'load_newer']) {
    const { pages } = await walk(alice, op, 't', { limit: 20, filter: { kind: ['message'] } });
    assert.deepEqual(pages.map(seqs), [[1, 502]], op);
  }
  const one = await walk(alice, 'load_older', 't', { limit: 1, filter: { kind: ['message'] } });
  assert.deepEqual(one.pages.map(seqs), [[502], [1]]);
});

scenario('stoatchat/stoatchat#147, ergochat/ergo#1676: random masks by filter: every page full but the last', async (s) => {
  const seed = newSeed();
  s.diagnostic(`seed ${seed}`);
  const rand = new Rand(seed);
  const rows = range(1, 600).map((i) => row(i, T0 + rand.below(200), { by: rand.pick(['alice', 'bob', 'carol', 'dave']) }));
  const stored = rows.map((one, i) => ({ ...one, seq: i + 1 })).sort(order);
  const { alice } = await serving(s, rows);
  for (let round = 0; round < 30; round++) {
    const by = ['alice', 'bob', 'carol', 'dave'].filter(() => rand.chance(0.4));
    const limit = rand.between(1, 60);
    const expected = stored.filter((one) => by.length === 0 || by.includes(one.by));
    const { pages } = await walk(alice, 'load_older', 't', { limit, filter: { by } });
    assert.deepEqual(pages.map(seqs), olderPages(expected, limit).map(seqs), `seed ${seed}: ${by}, limit ${limit}`);
  }
});

scenario('BasedHardware/omi#12712: one match in 100,000 rows: found, walk complete, others not held up', { timeout: 300_000 }, async (s) => {
  const rows = range(1, 100_000).map((i) =>
    row(i, T0 + i, { by: i % 2 ? 'bob' : 'carol', ...(i === 777 ? { text: 'see https://example.org/' } : {}) }),
  );
  rows.push(row(100_001, T0 + 100_001));
  const { server, alice } = await serving(s, rows);
  const link = await walk(alice, 'load_older', 't', { limit: 20, filter: { has: ['link'] } });
  assert.deepEqual(seqs(link.rows), [777]);
  // A filter that no posting list narrows: the scan must look at most of the thread.
  const other = await s.session(server, 'bob');
  const slow = walk(alice, 'load_newer', 't', { limit: 200, filter: { by: ['bob', 'carol'], has: ['link', 'reply', 'file'] } });
  const times = [];
  for (let i = 0; i < 50; i++) {
    const begun = performance.now();
    await other.ok('load_older', { thread: 't', limit: 20 });
    times.push(performance.now() - begun);
  }
  assert.deepEqual(seqs((await slow).rows), [777]);
  const worst = Math.max(...times);
  s.diagnostic(`worst page of the other client: ${worst.toFixed(1)} ms`);
  assert.ok(worst < 1000, `another client waited ${worst} ms`);
});

scenario('BasedHardware/omi#12712: a used-up scan budget gives a short page with a cursor, never the end', { timeout: 180_000 }, async (s) => {
  const rows = range(1, 40_000).map((i) => row(i, T0 + i, [1, 20_000, 40_000].includes(i) ? {} : { kind: 'join' }));
  const { alice } = await serving(s, rows, ['--scan-budget', '1ms', '--scan-slice', '100us']);
  const filter = { kind: ['message'] };
  let short = 0;
  for (const op of ['load_older', 'load_newer']) {
    const { rows: walked, pages } = await walk(alice, op, 't', { limit: 20, filter });
    assert.deepEqual(seqs(walked), [1, 20_000, 40_000], op);
    short += pages.length - 1;
  }
  s.diagnostic(`${short} pages were cut short`);
  assert.ok(short > 0, 'the budget was never used up');
});

scenario('matrix-org/matrix-rust-sdk#2812: every next position is strictly older, over random walks', async (s) => {
  const seed = newSeed();
  s.diagnostic(`seed ${seed}`);
  const rand = new Rand(seed);
  const { alice } = await serving(s, range(1, 300).map((i) => row(i, T0 + rand.below(40))));
  for (let round = 0; round < 20; round++) {
    const op = rand.pick(['load_older', 'load_newer']);
    // walk() asserts strict order between pages and that no cursor comes twice.
    const { rows } = await walk(alice, op, 't', { limit: () => rand.between(1, 50), max: 300 });
    assert.equal(rows.length, 300, `seed ${seed}`);
  }
});

scenario('matrix-org/synapse#12903, element-hq/element-web#2566: 40 messages, limit 20: exactly two requests', async (s) => {
  const { alice } = await serving(s, range(1, 40).map((i) => row(i, T0 + i)));
  for (const op of ['load_older', 'load_newer']) {
    const { pages } = await walk(alice, op, 't', { limit: 20 });
    assert.deepEqual(pages.map((page) => page.length), [20, 20], op);
  }
});

scenario('matrix-org/dendrite#991: ties keep their order over a restart', async (s) => {
  const { server, alice } = await serving(s, range(1, 50).map((i) => row(i, T0 + (i % 3))));
  const before = await walk(alice, 'load_older', 't', { limit: 7 });
  for (let i = 0; i < 20; i++) alice.request('post', { thread: 't', text: `p${i}` });
  await alice.ok('post', { thread: 't', text: 'last' });
  const live = await walk(alice, 'load_older', 't', { limit: 7 });
  for (const end of ['stop', 'kill9']) {
    await server[end]();
    await server.start();
    const back = await s.session(server, 'alice');
    const after = await walk(back, 'load_older', 't', { limit: 7 });
    assert.deepEqual(after.rows, live.rows, end);
    assert.deepEqual(seqs(after.rows).slice(0, 50), seqs(before.rows), end);
  }
});

scenario('element-hq/synapse#13356: a deep page costs what the first one does', { timeout: 300_000 }, async (s) => {
  const { alice } = await serving(s, range(1, 60_000).map((i) => row(i, T0 + i)));
  const time = async (fields, rounds) => {
    const times = [];
    for (let i = 0; i < rounds; i++) {
      const begun = performance.now();
      await alice.ok('load_older', { thread: 't', limit: 50, ...fields });
      times.push(performance.now() - begun);
    }
    return times.sort((a, b) => a - b)[rounds >> 1];
  };
  await time({}, 100);
  const shallow = await time({}, 200);
  const deep = await time({ before: 60 }, 200);
  s.diagnostic(`median of the first page ${shallow.toFixed(3)} ms, of the deepest ${deep.toFixed(3)} ms`);
  // A cost that grew with depth would be a thousandfold here; 3 leaves room for a busy machine.
  assert.ok(deep < shallow * 3 + 0.5, `first ${shallow} ms, deepest ${deep} ms`);
});

scenario('igniterealtime/Smack MAM test: 30 messages, limit 10: more, more, end', async (s) => {
  const { alice } = await serving(s, range(1, 30).map((i) => row(i, T0 + i)));
  for (const [op, next] of [['load_older', 'older'], ['load_newer', 'newer']]) {
    let cursor;
    const more = [];
    for (let i = 0; i < 3; i++) {
      const page = await alice.ok(op, { thread: 't', limit: 10, cursor });
      assert.equal(page.messages.length, 10);
      cursor = page[next];
      more.push(cursor !== null);
    }
    assert.deepEqual(more, [true, true, false], op);
  }
});

scenario('openclaw/openclaw#133186, chrisdoc/hevy-mcp#1001: after a restart the client reopens at its oldest row', async (s) => {
  const { server, alice } = await serving(s, range(1, 30).map((i) => row(i, T0 + (i >> 2))));
  const page = await alice.ok('load_older', { thread: 't', limit: 10 });
  await server.stop();
  await server.start();
  const back = await s.session(server, 'alice');
  await back.refused('invalid_cursor', 'load_older', { thread: 't', limit: 10, cursor: page.older });
  const rest = await walk(back, 'load_older', 't', { limit: 10, first: { before: page.messages[0].seq } });
  assert.deepEqual(seqs([...rest.rows, ...page.messages]), range(1, 30));
});

scenario('matrix-org/synapse#13968: invited, removed, never a member: no row on any operation', async (s) => {
  const { server } = await serving(s, range(1, 5).map((i) => row(i, T0 + i)));
  const svc = await s.service(server);
  await svc.ok('set_member', { thread: 't', user: 'gone', role: 'writer' });
  const gone = await s.session(server, 'gone');
  assert.deepEqual(await pageSeqs(gone, 'load_older', { thread: 't' }), range(1, 5));
  await svc.ok('set_member', { thread: 't', user: 'gone', role: null });
  for (const who of [gone, await s.session(server, 'never')]) {
    for (const [op, fields] of [
      ['load_older', {}],
      ['load_newer', {}],
      ['load_around', { seq: 3 }],
      ['load_around', { at: T0 }],
      ['members', {}],
      ['post', { text: 'x' }],
      ['set_member', { user: who.user, role: 'reader' }],
    ]) {
      await who.refused('forbidden', op, { thread: 't', ...fields });
    }
    assert.deepEqual((await who.ok('threads')).threads, []);
  }
});

scenario('discord/discord-api-docs#455: forbidden is an error, not an empty page', async (s) => {
  const { server } = await serving(s, [row(1, T0)]);
  const never = await s.session(server, 'never');
  const reply = await never.refused('forbidden', 'load_older', { thread: 't' });
  assert.equal('messages' in reply, false);
});

scenario('CVE-2021-39164: every metadata operation as a non-member', async (s) => {
  const { server } = await serving(s, [row(1, T0)]);
  const never = await s.session(server, 'never');
  await never.refused('forbidden', 'members', { thread: 't' });
  await never.refused('forbidden', 'members', { thread: 't', limit: 1 });
  await never.refused('forbidden', 'set_member', { thread: 't', user: 'never', role: 'writer' });
  await never.refused('forbidden', 'set_member', { thread: 't', user: 'alice', role: null });
  assert.deepEqual((await never.ok('threads')).threads, []);
});

scenario('CVE-2018-12291: each operation that returns rows obeys one visibility table (since_join)', async (s) => {
  const server = await s.server();
  const svc = await s.service(server);
  await svc.ok('create_thread', { thread: 'j', history: 'since_join', members: { alice: 'writer' } });
  const alice = await s.session(server, 'alice');
  const at = [];
  for (let i = 1; i <= 6; i++) at[i] = (await alice.ok('post', { thread: 'j', text: `m${i}` })).at;
  await svc.ok('set_member', { thread: 'j', user: 'bob', role: 'writer' });
  const bob = await s.session(server, 'bob');
  assert.deepEqual((await bob.ok('threads')).threads.map((one) => [one.thread, one.newest]), [['j', undefined]]);
  for (let i = 7; i <= 9; i++) await alice.ok('post', { thread: 'j', text: `m${i}` });
  for (const limit of [1, 2, 3, 50]) {
    assert.deepEqual(seqs((await walk(bob, 'load_older', 'j', { limit })).rows), [7, 8, 9]);
    assert.deepEqual(seqs((await walk(bob, 'load_newer', 'j', { limit })).rows), [7, 8, 9]);
  }
  for (const seq of [1, 6, 99]) {
    const page = await bob.ok('load_around', { thread: 'j', seq });
    assert.deepEqual([page.found, page.messages, page.older, page.newer], [false, [], null, null], `seq ${seq}`);
    await bob.refused('not_found', 'load_older', { thread: 'j', before: seq });
    await bob.refused('not_found', 'load_newer', { thread: 'j', after: seq });
    await bob.refused('not_found', 'post', { thread: 'j', text: 'x', reply_to: seq });
  }
  const around = await bob.ok('load_around', { thread: 'j', at: at[1], limit: 2 });
  assert.deepEqual([around.found, seqs(around.messages), around.older], [true, [7, 8], null]);
  assert.deepEqual(await pageSeqs(bob, 'load_around', { thread: 'j', seq: 8, limit: 50 }), [7, 8, 9]);
  const listed = (await bob.ok('threads')).threads[0];
  assert.equal(listed.newest.seq, 9);
  assert.ok(listed.unread <= 3, `unread ${listed.unread} counts hidden rows`);
  const full = await walk(alice, 'load_older', 'j');
  assert.deepEqual(seqs(full.rows), range(1, 9));
});

scenario('CVE-2023-1777, CVE-2026-1629: a reply to a hidden row shows its number only', async (s) => {
  const server = await s.server();
  const svc = await s.service(server);
  await svc.ok('create_thread', { thread: 'j', history: 'since_join', members: { alice: 'writer' } });
  const alice = await s.session(server, 'alice');
  await alice.ok('post', { thread: 'j', text: 'the hidden secret' });
  await svc.ok('set_member', { thread: 'j', user: 'bob', role: 'reader' });
  await alice.ok('post', { thread: 'j', text: 'an answer', reply_to: 1 });
  const bob = await s.session(server, 'bob');
  const page = await bob.ok('load_older', { thread: 'j' });
  assert.deepEqual(page.messages.map((one) => [one.seq, one.text, one.reply_to]), [[2, 'an answer', 1]]);
  assert.equal(page.raw.includes('secret'), false);
  assert.deepEqual(await pageSeqs(bob, 'load_older', { thread: 'j', filter: { thread_of: 1 } }), [2]);
});

scenario('CVE-2024-53867: leaving between two pages ends the walk', async (s) => {
  const { server, alice } = await serving(s, range(1, 9).map((i) => row(i, T0 + i)));
  const svc = await s.service(server);
  const page = await alice.ok('load_older', { thread: 't', limit: 3 });
  await svc.ok('set_member', { thread: 't', user: 'alice', role: null });
  await alice.refused('forbidden', 'load_older', { thread: 't', limit: 3, cursor: page.older });
  await alice.refused('forbidden', 'load_older', { thread: 't', limit: 3 });
});

scenario('CVE-2023-32678: an ex-member can write nothing', async (s) => {
  const { server, alice } = await serving(s, [row(1, T0)]);
  const svc = await s.service(server);
  await alice.ok('post', { thread: 't', text: 'kept', nonce: 'n' });
  await svc.ok('set_member', { thread: 't', user: 'alice', role: null });
  for (const fields of [{ text: 'x' }, { text: 'x', nonce: 'n2' }, { text: 'x', reply_to: 1 }]) {
    await alice.refused('forbidden', 'post', { thread: 't', ...fields });
  }
  await alice.refused('forbidden', 'set_member', { thread: 't', user: 'bob', role: 'reader' });
  assert.deepEqual(await pageSeqs(svc, 'load_older', { thread: 't' }), [1, 2]);
});

scenario('CVE-2026-45078: many greedy walkers of one user do not starve another', { timeout: 180_000 }, async (s) => {
  const rows = range(1, 30_000).map((i) => row(i, T0 + i, { by: i % 2 ? 'bob' : 'carol' }));
  const { server } = await serving(s, [...rows, row(30_001, T0 + 30_001)]);
  const quiet = await s.session(server, 'carol');
  const time = async () => {
    const times = [];
    for (let i = 0; i < 60; i++) {
      const begun = performance.now();
      await quiet.ok('load_older', { thread: 't', limit: 20 });
      times.push(performance.now() - begun);
    }
    return times.sort((a, b) => a - b);
  };
  await time();
  let stop = false;
  const greedy = [];
  for (let i = 0; i < 20; i++) {
    const client = await s.session(server, 'bob');
    greedy.push((async () => {
      while (!stop) await client.ok('load_older', { thread: 't', limit: 200, filter: { by: ['bob', 'carol'], has: ['file'] } });
    })());
  }
  const loaded = await time();
  stop = true;
  await Promise.all(greedy);
  s.diagnostic(`median ${loaded[30].toFixed(2)} ms, worst ${loaded.at(-1).toFixed(2)} ms under load`);
  assert.ok(loaded[30] < 200, `the quiet user's median page took ${loaded[30]} ms`);
});
