/* client.test.mjs - operations, errors, timeouts and coming back, over a fake network. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScrollbackError, SERVER_CODES, Client, connect } from '../src/index.js';
import { FakeBackend } from './fake-backend.mjs';
import { FakeClock, FakeNetwork, settle } from './fake-socket.mjs';

function world({ messages = 8, ...options } = {}) {
  const backend = new FakeBackend();
  backend.addThread('general', { title: 'General', members: { alice: 'writer', bob: 'reader' } });
  for (let i = 1; i <= messages; i++) backend.addMessage('general', { by: i % 2 ? 'alice' : 'bob', text: `m${i}` });
  const network = new FakeNetwork(backend);
  const clock = new FakeClock();
  const states = [];
  const events = [];
  const base = { url: 'ws://fake/v1', token: 'token:alice', WebSocket: network.WebSocket, clock,
    onState: (change) => states.push(change), onEvent: (event) => events.push(event), ...options };
  return { backend, network, clock, states, events, options: base };
}

const failsWith = (code) => (error) => error instanceof ScrollbackError && error.code === code;
const seqs = (page) => page.messages.map((message) => message.seq);

test('hello goes first, with the subprotocol, and tells who we are', async () => {
  const w = world();
  const client = await connect(w.options);
  assert.equal(w.network.last.protocol, 'scrollback.v1');
  assert.equal(w.network.last.binaryType, 'arraybuffer');
  assert.equal(w.backend.requests[0].op, 'hello');
  assert.equal(client.user, 'alice');
  assert.equal(client.limits.page, 200);
  assert.equal(client.session, 1);
  assert.deepEqual(w.states.map((s) => s.state), ['connecting', 'open']);
});

test('pages: eight messages by three', async () => {
  const client = await connect(world().options);
  const first = await client.loadOlder('general', { limit: 3 });
  assert.deepEqual(seqs(first), [6, 7, 8]);
  const second = await client.loadOlder('general', { limit: 3, cursor: first.older });
  assert.deepEqual(seqs(second), [3, 4, 5]);
  const third = await client.loadOlder('general', { limit: 3, cursor: second.older });
  assert.deepEqual(seqs(third), [1, 2]);
  assert.equal(third.older, null);
  const newer = await client.loadNewer('general', { after: 5, limit: 2 });
  assert.deepEqual(seqs(newer), [6, 7]);
  const around = await client.loadAround('general', { seq: 4, limit: 3 });
  assert.deepEqual(seqs(around), [3, 4, 5]);
  assert.equal(around.found, true);
});

test('the other operations send what the contract names', async () => {
  const w = world();
  const client = await connect(w.options);
  await client.createThread('books', { title: 'Books', history: 'all', members: { bob: 'writer' } });
  await client.setMember('books', 'carol', 'reader');
  await client.setMember('books', 'carol', null);
  const { members } = await client.members('books');
  assert.deepEqual(members, [{ user: 'alice', role: 'moderator' }, { user: 'bob', role: 'writer' }]);
  const { threads, next } = await client.threads({ limit: 10 });
  assert.deepEqual(threads.map((t) => t.title), ['General', 'Books']);
  assert.equal(next, null);
  const removal = w.backend.requests.filter((frame) => frame.op === 'set_member')[1];
  assert.deepEqual({ ...removal, id: 0 }, { op: 'set_member', id: 0, thread: 'books', user: 'carol', role: null });
});

test('an undefined field is absent on the wire', async () => {
  const w = world();
  const client = await connect(w.options);
  await client.loadOlder('general', { filter: undefined, limit: undefined, before: undefined });
  assert.deepEqual(Object.keys(w.backend.requests.at(-1)).sort(), ['id', 'op', 'thread']);
});

test('every server code arrives as a typed error, an unknown one as internal', async () => {
  const w = world();
  const client = await connect(w.options);
  w.network.hold = true;
  for (const code of [...SERVER_CODES, 'from_the_future']) {
    const pending = client.loadOlder('general');
    await settle();
    const { id } = w.backend.requests.at(-1);
    w.network.last.deliver({ re: id, error: { code, message: 'why', retry_ms: 250 } });
    await assert.rejects(pending, (error) => failsWith(code === 'from_the_future' ? 'internal' : code)(error)
      && error.message === 'why' && error.retryMs === 250);
  }
});

test('a refused post carries its nonce; repeating with it stores once', async () => {
  const w = world();
  const client = await connect(w.options);
  w.network.hold = true;
  const lost = client.post('general', 'once');
  await settle();
  w.network.last.closeFromServer(1006);
  const error = await lost.then(() => assert.fail('must fail'), (e) => e);
  assert.ok(failsWith('connection_lost')(error));
  w.network.hold = false;
  await w.clock.advance(60_000);
  const again = await client.post('general', 'once', { nonce: error.nonce });
  assert.equal(again.duplicate, true);
  assert.equal(again.nonce, error.nonce);
  assert.equal(w.backend.threads.get('general').rows.filter((row) => row.text === 'once').length, 1);
});

test('nonces differ and fit', async () => {
  let state = 7;
  const w = world();
  w.clock.random = () => { state = (state * 16807) % 2147483647; return state / 2147483647; };
  const client = await connect(w.options);
  const a = await client.post('general', 'x');
  const b = await client.post('general', 'x');
  assert.notEqual(a.nonce, b.nonce);
  assert.ok(a.nonce.length <= 64);
});

test('replies may overtake each other', async () => {
  const w = world();
  const client = await connect(w.options);
  w.network.hold = true;
  const three = client.loadOlder('general', { limit: 3 });
  const one = client.loadOlder('general', { limit: 1 });
  await settle();
  await w.network.release((held) => [...held].reverse());
  assert.deepEqual(seqs(await three), [6, 7, 8]);
  assert.deepEqual(seqs(await one), [8]);
});

test('close: everything pending fails with a clear error, later requests too', async () => {
  const w = world();
  const client = await connect(w.options);
  w.network.hold = true;
  const pending = [client.loadOlder('general'), client.threads(), client.post('general', 'x')];
  const outcomes = pending.map((p) => assert.rejects(p, failsWith('closed')));
  await settle();
  client.close();
  await Promise.all(outcomes);
  await assert.rejects(client.threads(), failsWith('closed'));
  assert.equal(w.network.last.closedWith, 1000);
  assert.equal(client.state, 'closed');
  assert.deepEqual(w.clock.timers, [], 'no timer is left behind');
});

test('a timeout fails the request; silence since it was sent drops the connection', async () => {
  const w = world({ timeout: 1000 });
  const client = await connect(w.options);
  w.network.hold = true;
  const slow = assert.rejects(client.loadOlder('general'), failsWith('timeout'));
  await w.clock.advance(500);
  w.network.last.deliver({ ev: 'typing', thread: 'general', user: 'bob', on: true });
  await w.clock.advance(501);
  await slow;
  assert.equal(client.state, 'open', 'something came, so the link lives');
  const dead = assert.rejects(client.loadOlder('general'), failsWith('timeout'));
  await w.clock.advance(1001);
  await dead;
  assert.equal(client.state, 'waiting');
  await w.network.release();
  await w.clock.advance(1000);
  assert.equal(client.state, 'open');
});

test('a late reply after its timeout is ignored', async () => {
  const w = world({ timeout: 1000 });
  const client = await connect(w.options);
  w.network.hold = true;
  const slow = assert.rejects(client.loadOlder('general'), failsWith('timeout'));
  await settle();
  w.network.last.deliver({ ev: 'typing' });
  await w.clock.advance(1001);
  await slow;
  await w.network.release();
  assert.deepEqual(seqs(await client.loadOlder('general', { limit: 1 })), [8]);
});

test('coming back: backoff doubles, has jitter, and starts over after a steady while', async () => {
  const w = world({ backoff: { first: 100, most: 1000 } });
  const client = await connect(w.options);
  w.network.down = true;
  w.network.last.closeFromServer(1006);
  const waits = () => w.states.filter((s) => s.state === 'waiting').map((s) => s.retryMs);
  for (let i = 0; i < 5; i++) await w.clock.advance(waits().at(-1));
  assert.deepEqual(waits(), [75, 150, 300, 600, 750, 750]);
  w.network.down = false;
  await w.clock.advance(750);
  assert.equal(client.state, 'open');
  assert.equal(client.session, 2);
  w.network.last.closeFromServer(1006); // at once: not steady
  assert.equal(waits().at(-1), 750);
  await w.clock.advance(750);
  await w.clock.advance(10_000);
  w.network.last.closeFromServer(4408);
  assert.equal(waits().at(-1), 75);
  w.clock.random = () => 0;
  client.close();
});

test('a request made while away waits for the connection', async () => {
  const w = world();
  const client = await connect(w.options);
  w.network.last.closeFromServer(1001);
  const page = client.loadOlder('general', { limit: 2 });
  await w.clock.advance(1000);
  assert.deepEqual(seqs(await page), [7, 8]);
});

test('a request made while away fails when no connection comes in time', async () => {
  const w = world({ timeout: 5000 });
  const client = await connect(w.options);
  w.network.down = true;
  w.network.last.closeFromServer(1006);
  const page = assert.rejects(client.loadOlder('general'), failsWith('timeout'));
  await w.clock.advance(5001);
  await page;
});

test('draining: comes back no sooner than it was told', async () => {
  const w = world({ backoff: { first: 100, most: 1000 } });
  const client = await connect(w.options);
  w.network.last.deliver({ ev: 'draining', reconnect_ms: 2000 });
  w.network.last.closeFromServer(1001);
  assert.equal(w.states.at(-1).retryMs, 2075);
  assert.deepEqual(w.events, [{ ev: 'draining', reconnect_ms: 2000 }]);
  client.close();
});

for (const [code, error] of [[4401, 'unauthenticated'], [4403, 'connection_lost'], [4409, 'closed'],
  [1007, 'bad_frame']]) {
  test(`close ${code} is final`, async () => {
    const w = world();
    const client = await connect(w.options);
    w.network.last.closeFromServer(code);
    await settle();
    assert.equal(client.state, 'closed');
    await assert.rejects(client.threads(), failsWith(error));
    assert.deepEqual(w.clock.timers, []);
  });
}

test('4403 with a token function: a fresh token is asked for', async () => {
  let asked = 0;
  const w = world({ token: async () => { asked++; return 'token:alice'; } });
  const client = await connect(w.options);
  w.network.last.closeFromServer(4403);
  await w.clock.advance(1000);
  assert.equal(client.state, 'open');
  assert.equal(asked, 2);
});

test('a bad token: connect fails with unauthenticated and does not try again', async () => {
  const w = world({ token: 'nonsense' });
  await assert.rejects(connect(w.options), failsWith('unauthenticated'));
  await w.clock.advance(120_000);
  assert.equal(w.network.sockets.length, 1);
});

test('a server that is down: connect fails, `new Client` keeps trying', async () => {
  const w = world();
  w.network.down = true;
  await assert.rejects(connect(w.options), failsWith('connection_lost'));
  assert.deepEqual(w.clock.timers, []);
  const client = new Client(w.options);
  await settle();
  assert.equal(client.state, 'waiting');
  w.network.down = false;
  await w.clock.advance(1000);
  assert.equal(client.state, 'open');
});

test('a token function that fails once is asked again', async () => {
  let asked = 0;
  const w = world({ token: () => { if (++asked === 1) throw new Error('503'); return 'token:alice'; } });
  const client = new Client(w.options);
  await settle();
  assert.equal(client.state, 'waiting');
  await w.clock.advance(1000);
  assert.equal(client.state, 'open');
});

test('a token is renewed on the open connection before it expires', async () => {
  const w = world();
  const jwt = () => ['', { sub: 'alice', exp: Math.floor(w.clock.now() / 1000) + 600 }, '']
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const client = await connect({ ...w.options, token: jwt });
  await w.clock.advance(479_000);
  assert.equal(w.backend.requests.filter((frame) => frame.op === 'hello').length, 1);
  await w.clock.advance(2_000);
  assert.equal(w.backend.requests.filter((frame) => frame.op === 'hello').length, 2);
  assert.equal(w.network.sockets.length, 1);
  assert.equal(client.session, 1, 'cursors stay valid');
  w.network.down = true;
  w.network.last.closeFromServer(1006);
  assert.equal(w.clock.timers.length, 1, 'only the next try: nothing is left to renew');
  client.close();
  assert.deepEqual(w.clock.timers, []);
});

test('nonsense from the server ends the client with bad_frame', async () => {
  for (const bytes of [Uint8Array.of(0xc1), Uint8Array.of(0x93, 1), Uint8Array.of(0x90), 'text',
    Uint8Array.of(0x80, 0x80)]) {
    const w = world();
    const client = await connect(w.options);
    w.network.last.deliverRaw(bytes);
    await settle();
    await assert.rejects(client.threads(), failsWith('bad_frame'));
  }
});

test('a frame over the limit is refused here, and the connection lives', async () => {
  const w = world();
  const client = await connect(w.options);
  await assert.rejects(client.post('general', 'x'.repeat(70_000)),
    (error) => failsWith('too_large')(error) && typeof error.nonce === 'string');
  assert.ok(w.backend.requests.every((frame) => frame.op !== 'post'), 'it was not sent');
  assert.deepEqual(seqs(await client.loadOlder('general', { limit: 1 })), [8]);
});

test('no WebSocket at hand: a clear error', async () => {
  const { WebSocket: _, ...options } = world().options;
  const had = globalThis.WebSocket;
  globalThis.WebSocket = undefined;
  try {
    await assert.rejects(connect(options), failsWith('bad_request'));
  } finally {
    globalThis.WebSocket = had;
  }
});

test('a listener that throws does not disturb the client', async () => {
  const thrown = [];
  const real = globalThis.queueMicrotask;
  globalThis.queueMicrotask = (run) => real(() => {
    try { run(); } catch (error) { thrown.push(error.message); } // what would be uncaught
  });
  try {
    const w = world({ onEvent: () => { throw new Error('listener'); } });
    const client = await connect(w.options);
    w.network.last.deliver({ ev: 'typing' });
    assert.deepEqual(seqs(await client.loadOlder('general', { limit: 1 })), [8]);
    await settle();
    assert.deepEqual(thrown, ['listener']);
    client.close();
  } finally {
    globalThis.queueMicrotask = real;
  }
});
