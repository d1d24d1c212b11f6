// Who may do what: one table of operations × principals × threads, and its fine print.
//
// A refusal of a thread that is closed to the caller is byte for byte the refusal of a
// thread that does not exist.

import assert from 'node:assert/strict';
import { scenario } from './lib/harness.mjs';
import { pageSeqs, seqs, walk } from './lib/pages.mjs';

const ID = 999_983;
const PRINCIPALS = {
  reader: { user: 'reader' },
  writer: { user: 'writer' },
  moderator: { user: 'moderator' },
  removed: { user: 'removed' },
  never: { user: 'never' },
  otherTenant: { user: 'writer', tenant: 'other' },
  otherService: { user: 'svc', tenant: 'other', service: true },
  service: { user: 'svc', service: true },
};
const THREADS = {
  all: { history: 'all' },
  since: { history: 'since_join' },
  open: { access: 'tenant' },
};

// Threads of each kind with three rows, and everyone in their place.
async function house(s) {
  const server = await s.server();
  const svc = await s.service(server);
  for (const [thread, rules] of Object.entries(THREADS)) {
    await svc.ok('create_thread', {
      thread,
      ...rules,
      members: { reader: 'reader', writer: 'writer', moderator: 'moderator', removed: 'writer', second: 'moderator' },
    });
    await svc.ok('set_member', { thread, user: 'removed', role: null });
  }
  const other = await s.service(server, 'other');
  await other.ok('create_thread', { thread: 'theirs', members: { writer: 'writer' } });
  const who = {};
  for (const [name, claims] of Object.entries(PRINCIPALS)) who[name] = await s.session(server, claims);
  for (const thread of Object.keys(THREADS)) {
    for (let i = 1; i <= 3; i++) await who.writer.ok('post', { thread, text: `m${i}` });
  }
  return { server, svc, who };
}

const READS = {
  load_older: {},
  load_newer: {},
  'load_around seq': { op: 'load_around', seq: 2 },
  'load_around at': { op: 'load_around', at: 1 },
  'load_older before': { op: 'load_older', before: 3 },
  'load_newer after': { op: 'load_newer', after: 1 },
  'load_older filter': { op: 'load_older', filter: { by: ['writer'] } },
};
const MEMBERS = ['reader', 'writer', 'moderator', 'service'];
const TENANT = [...MEMBERS, 'removed', 'never'];

const mayRead = (thread) => (thread === 'open' ? TENANT : MEMBERS);

function call(client, name, fields, thread) {
  const { op = name, ...rest } = fields;
  return client.request(op, { thread, ...rest }, { id: ID });
}

scenario('matrix: every reading operation × every principal × every kind of thread', async (s) => {
  const { who } = await house(s);
  for (const thread of Object.keys(THREADS)) {
    for (const [name, fields] of Object.entries(READS)) {
      for (const [principal, client] of Object.entries(who)) {
        const reply = await call(client, name, fields, thread);
        const what = `${name} of ${thread} by ${principal}`;
        if (mayRead(thread).includes(principal)) {
          assert.equal(reply.error, undefined, `${what}: ${JSON.stringify(reply.error)}`);
          assert.ok(reply.messages.length >= 1, what);
        } else {
          assert.equal(reply.error?.code, 'forbidden', what);
        }
      }
    }
  }
});

scenario('matrix: what is closed answers like what does not exist, byte for byte', async (s) => {
  const { who } = await house(s);
  const operations = {
    ...READS,
    members: {},
    'members limit': { op: 'members', limit: 1 },
    post: { text: 'x' },
    'post reply': { op: 'post', text: 'x', reply_to: 2 },
    'post reply to nothing': { op: 'post', text: 'x', reply_to: 77 },
    'set_member new': { op: 'set_member', user: 'someone', role: 'reader' },
    'set_member self': { op: 'set_member', user: 'never', role: 'writer' },
    'load_older cursor': { op: 'load_older', cursor: Buffer.alloc(50, 3) },
    'load_around missing': { op: 'load_around', seq: 77 },
    'load_older missing': { op: 'load_older', before: 77 },
  };
  for (const principal of ['removed', 'never', 'otherTenant', 'otherService']) {
    for (const [name, fields] of Object.entries(operations)) {
      const missing = await call(who[principal], name, fields, 'no-such-thread');
      assert.equal(missing.error?.code, 'forbidden', `${name} of a missing thread by ${principal}`);
      for (const thread of ['all', 'since']) {
        const closed = await call(who[principal], name, fields, thread);
        assert.deepEqual(closed.raw, missing.raw, `${name} of ${thread} by ${principal}`);
      }
    }
  }
  const missing = await call(who.service, 'load_older', {}, 'no-such-thread');
  assert.equal(missing.error?.code, 'forbidden', 'a service gets the same for a missing thread');
});

scenario('matrix: post: writers, moderators and the service; the author is the token’s user', async (s) => {
  const { who } = await house(s);
  const may = ['writer', 'moderator', 'service'];
  for (const thread of Object.keys(THREADS)) {
    let seq = 3;
    for (const [principal, client] of Object.entries(who)) {
      const reply = await client.request('post', { thread, text: `by ${principal}`, by: 'mallory' });
      if (may.includes(principal)) assert.equal(reply.seq, ++seq, `${principal} in ${thread}: ${JSON.stringify(reply.error)}`);
      else assert.equal(reply.error?.code, 'forbidden', `${principal} in ${thread}`);
    }
    const rows = (await walk(who.service, 'load_older', thread)).rows.slice(3);
    assert.deepEqual(rows.map((row) => row.by), ['writer', 'moderator', 'svc']);
  }
});

scenario('matrix: members: who reads the thread as a member; sorted stably, paged completely', async (s) => {
  const { who } = await house(s);
  const expected = { reader: 'reader', writer: 'writer', moderator: 'moderator', second: 'moderator' };
  for (const thread of ['all', 'since']) {
    for (const [principal, client] of Object.entries(who)) {
      const reply = await client.request('members', { thread });
      if (!MEMBERS.includes(principal)) {
        assert.equal(reply.error?.code, 'forbidden', `${principal} of ${thread}`);
        continue;
      }
      const list = Object.fromEntries(reply.members.map((one) => [one.user, one.role]));
      assert.deepEqual(list, expected, principal);
      assert.equal(reply.next, null);
    }
    for (const limit of [1, 2, 3, 4]) {
      const { items, pages } = await list(who.reader, 'members', { thread, limit });
      assert.deepEqual(items.map((one) => one.user), (await who.reader.ok('members', { thread })).members.map((one) => one.user));
      assert.equal(pages, Math.ceil(4 / limit), `limit ${limit}`);
    }
  }
});

// Pages through `threads` or `members`.
async function list(client, op, fields) {
  const items = [];
  let cursor;
  let pages = 0;
  do {
    const page = await client.ok(op, { ...fields, cursor });
    items.push(...page[op]);
    pages++;
    assert.ok(pages < 1000);
    cursor = page.next;
  } while (cursor !== null);
  return { items, pages };
}

scenario('matrix: threads: members see theirs with their role, the service all of its tenant', async (s) => {
  const { svc, who, server } = await house(s);
  const names = async (client) => (await client.ok('threads')).threads.map((one) => `${one.thread} ${one.role}`).sort();
  assert.deepEqual(await names(who.reader), ['all reader', 'open reader', 'since reader']);
  assert.deepEqual(await names(who.moderator), ['all moderator', 'open moderator', 'since moderator']);
  assert.deepEqual(await names(who.never), []);
  assert.deepEqual(await names(who.removed), []);
  assert.deepEqual(await names(who.otherTenant), ['theirs writer']);
  assert.deepEqual((await who.service.ok('threads')).threads.map((one) => one.thread).sort(), ['all', 'open', 'since']);
  for (let i = 0; i < 23; i++) {
    await svc.ok('create_thread', { thread: `many${i}`, title: `Title ${i}`, members: { lister: 'reader' } });
  }
  const lister = await s.session(server, 'lister');
  const whole = (await list(lister, 'threads', {})).items;
  assert.equal(whole.length, 23);
  for (const limit of [1, 5, 23, 50]) {
    const { items, pages } = await list(lister, 'threads', { limit });
    assert.deepEqual(items, whole, `limit ${limit}`);
    assert.equal(pages, Math.ceil(23 / limit));
  }
  const all = await list(who.service, 'threads', { limit: 4 });
  assert.equal(new Set(all.items.map((one) => one.thread)).size, 26);
  assert.equal(all.items.length, 26);
  const one = whole.find((item) => item.thread === 'many7');
  assert.deepEqual([one.title, one.role, one.unread, one.read], ['Title 7', 'reader', 0, 0]);
});

scenario('matrix: create_thread: the service only; names are checked; a second one conflicts', async (s) => {
  const { who } = await house(s);
  for (const [principal, client] of Object.entries(who)) {
    if (PRINCIPALS[principal].service) continue;
    await client.refused('forbidden', 'create_thread', { thread: `new-${principal}` });
    const taken = await client.request('create_thread', { thread: 'all' }, { id: ID });
    const free = await client.request('create_thread', { thread: 'free' }, { id: ID });
    assert.deepEqual(taken.raw, free.raw, 'tells nobody which names are taken');
  }
  await who.service.refused('conflict', 'create_thread', { thread: 'all' });
  await who.otherService.ok('create_thread', { thread: 'all' });
  assert.deepEqual(await pageSeqs(who.otherService, 'load_older', { thread: 'all' }), []);
  const bad = [
    { thread: '' }, { thread: 'x'.repeat(129) }, { thread: 'a\nb' }, { thread: 'a\u0000' }, { thread: 'a\u007f' },
    { thread: 5 }, { thread: undefined }, { thread: 'n1', history: 'some' }, { thread: 'n2', access: 'world' },
    { thread: 'n3', history: 'since_join', access: 'tenant' }, { thread: 'n4', members: { a: 'owner' } },
    { thread: 'n5', members: { '': 'reader' } }, { thread: 'n6', members: ['a'] },
  ];
  for (const fields of bad) await who.service.refused('bad_request', 'create_thread', fields);
  for (const thread of ['x'.repeat(128), 'ü'.repeat(64), 'a b', '.', '日本', '🙂']) {
    await who.service.ok('create_thread', { thread, members: { writer: 'writer' } });
    await who.writer.ok('post', { thread, text: 'hi' });
    assert.deepEqual(await pageSeqs(who.writer, 'load_older', { thread }), [1]);
  }
});

scenario('matrix: set_member: moderators up to writer, never a moderator; others never', async (s) => {
  const { who } = await house(s);
  const set = (client, user, role) => client.request('set_member', { thread: 'all', user, role });
  for (const principal of ['reader', 'writer', 'removed', 'never', 'otherTenant', 'otherService']) {
    for (const [user, role] of [['x', 'reader'], ['reader', null], ['moderator', null], [who[principal].user, 'moderator']]) {
      const reply = await set(who[principal], user, role);
      assert.equal(reply.error?.code, 'forbidden', `${principal}: ${user} → ${role}`);
    }
  }
  for (const [user, role] of [['x', 'reader'], ['x', 'writer'], ['x', 'reader'], ['x', null], ['x', 'writer'], ['reader', 'writer'], ['reader', 'reader']]) {
    const reply = await set(who.moderator, user, role);
    assert.equal(reply.error, undefined, `moderator: ${user} → ${role}: ${JSON.stringify(reply.error)}`);
    assert.ok(Number.isSafeInteger(reply.version));
  }
  for (const [user, role] of [['x', 'moderator'], ['second', 'writer'], ['second', 'reader'], ['second', null], ['second', 'moderator'], ['never', 'moderator']]) {
    const reply = await set(who.moderator, user, role);
    assert.equal(reply.error?.code, 'forbidden', `moderator: ${user} → ${role}`);
  }
  for (const [user, role] of [['x', 'moderator'], ['second', 'reader'], ['second', null], ['never', 'moderator']]) {
    const reply = await set(who.service, user, role);
    assert.equal(reply.error, undefined, `service: ${user} → ${role}`);
  }
  await who.service.refused('bad_request', 'set_member', { thread: 'all', user: 'x', role: 'owner' });
  await who.service.refused('bad_request', 'set_member', { thread: 'all', user: '', role: 'reader' });
  await who.service.refused('bad_request', 'set_member', { thread: 'all', role: 'reader' });
  const now = Object.fromEntries((await who.service.ok('members', { thread: 'all' })).members.map((one) => [one.user, one.role]));
  assert.deepEqual(now, { reader: 'reader', writer: 'writer', moderator: 'moderator', x: 'moderator', never: 'moderator' });
});

scenario('contract, since_join: joining, removal and re-adding, change of role, founders, moderators', async (s) => {
  const server = await s.server();
  const svc = await s.service(server);
  await svc.ok('create_thread', { thread: 'j', history: 'since_join', members: { founder: 'writer' } });
  const founder = await s.session(server, 'founder');
  const post = async (n) => {
    for (let i = 0; i < n; i++) await founder.ok('post', { thread: 'j', text: 'm' });
  };
  const visible = async (client) => seqs((await walk(client, 'load_older', 'j', { limit: 2 })).rows);
  await post(3);
  await svc.ok('set_member', { thread: 'j', user: 'late', role: 'reader' });
  await svc.ok('set_member', { thread: 'j', user: 'mod', role: 'moderator' });
  const late = await s.session(server, 'late');
  const mod = await s.session(server, 'mod');
  assert.deepEqual(await visible(late), []);
  await post(2);
  assert.deepEqual(await visible(late), [4, 5]);
  assert.deepEqual(await visible(mod), [4, 5], 'moderators are bound likewise');
  assert.deepEqual(await visible(founder), [1, 2, 3, 4, 5], 'founders join at the beginning');
  assert.deepEqual(await visible(svc), [1, 2, 3, 4, 5], 'a service reads all');
  await svc.ok('set_member', { thread: 'j', user: 'late', role: 'moderator' });
  await svc.ok('set_member', { thread: 'j', user: 'late', role: 'writer' });
  assert.deepEqual(await visible(late), [4, 5], 'a change of role keeps the join position');
  await post(1);
  await svc.ok('set_member', { thread: 'j', user: 'late', role: null });
  await late.refused('forbidden', 'load_older', { thread: 'j' });
  await svc.ok('set_member', { thread: 'j', user: 'late', role: 'writer' });
  assert.deepEqual(await visible(late), [], 're-adding sets a new join position');
  await post(1);
  assert.deepEqual(await visible(late), [7]);
  await svc.ok('set_member', { thread: 'j', user: 'founder', role: null });
  await svc.ok('set_member', { thread: 'j', user: 'founder', role: 'writer' });
  assert.deepEqual(await visible(founder), [], 'a founder who was removed, too');
  await server.stop();
  await server.start();
  const back = await s.session(server, 'late');
  assert.deepEqual(seqs((await walk(back, 'load_older', 'j')).rows), [7], 'over a restart');
});

scenario('contract, since_join: post, join, post within one ms: the second is visible, the first is not', async (s) => {
  const server = await s.server();
  const svc = await s.service(server);
  await svc.ok('create_thread', { thread: 'j', history: 'since_join', members: { a: 'writer' } });
  let ties = 0;
  for (let round = 0; round < 60; round++) {
    const user = `u${round}`;
    // One connection's writes are applied in the order sent; together they share a batch.
    const [before, , after] = await Promise.all([
      svc.ok('post', { thread: 'j', text: 'before' }),
      svc.ok('set_member', { thread: 'j', user, role: 'reader' }),
      svc.ok('post', { thread: 'j', text: 'after' }),
    ]);
    if (before.at === after.at) ties++;
    const client = await s.session(server, user);
    assert.deepEqual(await pageSeqs(client, 'load_older', { thread: 'j' }), [after.seq], user);
    await client.refused('not_found', 'load_newer', { thread: 'j', after: before.seq });
    await client.close();
  }
  s.diagnostic(`${ties} of 60 within one ms`);
  assert.ok(ties > 0, 'no tie was tried');
});

scenario('contract, tenant access: any user of the tenant reads, none writes, no one is listed', async (s) => {
  const { who } = await house(s);
  assert.deepEqual(await pageSeqs(who.never, 'load_older', { thread: 'open' }), [1, 2, 3]);
  await who.never.refused('forbidden', 'post', { thread: 'open', text: 'x' });
  await who.never.refused('forbidden', 'set_member', { thread: 'open', user: 'never', role: 'reader' });
  assert.deepEqual((await who.never.ok('threads')).threads, []);
  const page = await who.never.ok('load_older', { thread: 'open', limit: 1 });
  assert.deepEqual(await pageSeqs(who.never, 'load_older', { thread: 'open', cursor: page.older }), [1, 2]);
});

scenario('contract, tenants: the same names live apart', async (s) => {
  const { server, who } = await house(s);
  await who.otherService.ok('create_thread', { thread: 'since', members: { writer: 'writer' } });
  await who.otherTenant.ok('post', { thread: 'since', text: 'theirs' });
  assert.deepEqual((await walk(who.otherTenant, 'load_older', 'since')).rows.map((row) => row.text), ['theirs']);
  assert.deepEqual((await walk(who.writer, 'load_older', 'since')).rows.map((row) => row.text), ['m1', 'm2', 'm3']);
  const plain = await s.session(server, { user: 'writer', tenant: 'default' });
  assert.deepEqual(await pageSeqs(plain, 'load_older', { thread: 'all' }), [1, 2, 3], 'the tenant is "default"');
  assert.deepEqual([plain.welcome.user, plain.welcome.tenant], ['writer', 'default']);
  assert.deepEqual([who.otherTenant.welcome.user, who.otherTenant.welcome.tenant], ['writer', 'other']);
});
