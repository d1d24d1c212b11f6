/* walk.test.mjs - walks over a fake server: complete, each row once, whatever happens between. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScrollbackError, connect } from '../src/index.js';
import { FakeBackend } from './fake-backend.mjs';
import { FakeClock, FakeNetwork } from './fake-socket.mjs';

async function world(count, options = {}) {
  const backend = new FakeBackend(options);
  backend.addThread('t', { members: { alice: 'writer' } });
  for (let i = 1; i <= count; i++) {
    backend.addMessage('t', { by: i % 3 ? 'alice' : 'bob', text: `m${i}`, at: 1_600_000_000_000 + (i >> 2) });
  }
  const network = new FakeNetwork(backend);
  const clock = new FakeClock();
  const client = await connect({ url: 'ws://fake/v1', token: 'token:alice', WebSocket: network.WebSocket, clock });
  return { backend, network, clock, client };
}

/** All rows of a walk, oldest first; `between(pageNumber)` runs after each page. */
async function collect(walk, between = () => {}) {
  const pages = [];
  for await (const page of walk) {
    pages.push(page.messages.map((message) => message.seq));
    await between(pages.length);
  }
  return { pages, all: [...pages].reverse().flat() };
}

const upTo = (n) => Array.from({ length: n }, (_, i) => i + 1);

test('many in one millisecond: each comes once', async () => {
  const { client } = await world(45);
  const { pages, all } = await collect(client.walkOlder('t', { limit: 20 }));
  assert.deepEqual(pages.map((page) => page.length), [20, 20, 5]);
  assert.deepEqual(all, upTo(45));
});

test('an empty page with a cursor is not the end', async () => {
  const { client } = await world(40, { pageRows: 2 });
  const { pages, all } = await collect(client.walkOlder('t', { limit: 20, filter: { by: ['bob'] } }));
  assert.ok(pages.some((page) => page.length === 0), 'the case is there');
  assert.deepEqual(all, upTo(40).filter((i) => i % 3 === 0));
});

test('an empty thread: one empty page', async () => {
  const { client } = await world(0);
  assert.deepEqual((await collect(client.walkOlder('t'))).pages, [[]]);
});

test('posts during a walk do not enter it', async () => {
  const { client, backend } = await world(30);
  const { all } = await collect(client.walkOlder('t', { limit: 7 }),
    () => { backend.addMessage('t', { by: 'bob', text: 'new' }); });
  assert.deepEqual(all, upTo(30));
});

test('the session is lost between any two pages: the walk goes on, nothing twice', async () => {
  for (let drop = 1; drop <= 4; drop++) {
    const { client, network, clock } = await world(33);
    const { all } = await collect(client.walkOlder('t', { limit: 8 }), async (page) => {
      if (page !== drop) return;
      network.last.closeFromServer(1006);
      await clock.advance(1000);
    });
    assert.equal(client.session, 2);
    assert.deepEqual(all, upTo(33), `dropped after page ${drop}`);
  }
});

test('the session is lost while a page is under way', async () => {
  const { client, network, clock } = await world(20);
  const walk = client.walkOlder('t', { limit: 8 });
  const first = (await walk.next()).value;
  network.hold = true;
  const next = walk.next();
  await clock.advance(0);
  network.last.closeFromServer(4413);
  network.hold = false;
  await clock.advance(2000);
  assert.deepEqual((await next).value.messages.map((m) => m.seq), upTo(20).slice(4, 12));
  assert.equal(first.messages.length, 8);
});

test('a walk does not hide other errors', async () => {
  const { client } = await world(20);
  await assert.rejects(collect(client.walkOlder('elsewhere')), (error) =>
    error instanceof ScrollbackError && error.code === 'forbidden');
  const { client: other, backend } = await world(20);
  await assert.rejects(collect(other.walkOlder('t', { limit: 8 }),
    () => { backend.threads.get('t').members.delete('alice'); }), (error) => error.code === 'forbidden');
});

test('a server that refuses every cursor does not make an endless loop', async () => {
  const { client, backend, network } = await world(20);
  await assert.rejects(collect(client.walkOlder('t', { limit: 2 }), () => {
    for (const row of backend.threads.get('t').rows) row.seq += 1000; // no `before` is found either
    network.last.session.cursors.clear();
  }), (error) => error.code === 'not_found');
});

test('before: starts below that row', async () => {
  const { client } = await world(20);
  assert.deepEqual((await collect(client.walkOlder('t', { before: 6, limit: 2 }))).all, upTo(5));
});
