// Hostile input on the wire: frames, MessagePack and sessions' deadlines.
//
// Table-driven over real sockets. After each table the server must still serve others.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { Client, encode } from './lib/client.mjs';
import { scenario } from './lib/harness.mjs';
import { pageSeqs } from './lib/pages.mjs';
import { Raw, frame } from './lib/raw.mjs';
import { token } from './lib/token.mjs';

const helloBytes = async (server, user = 'alice', id = 1) => encode({ op: 'hello', id, token: await token(server.dir, { user }) });
const rss = (server) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]);

async function threadOf(s, server) {
  const svc = await s.service(server);
  await svc.ok('create_thread', { thread: 't', members: { alice: 'writer', bob: 'writer' } });
  await svc.ok('post', { thread: 't', text: 'first' });
  return s.session(server, 'bob');
}

// One value of /metrics.
async function metric(server, name) {
  const text = await (await fetch(`${server.http}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  assert.ok(line, `no metric ${name}`);
  return Number(line.split(' ')[1]);
}

const alive = async (client) => assert.deepEqual(await pageSeqs(client, 'load_newer', { thread: 't', limit: 1 }), [1]);

// ---- frames ----

const PROTOCOL_ERRORS = {
  'a reserved bit': frame('x', { first: 0xc2 }),
  'all reserved bits': frame('x', { first: 0xf2 }),
  ...Object.fromEntries([3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode) => [`opcode ${opcode}`, frame('x', { opcode })])),
  'a ping of 126 bytes': frame(Buffer.alloc(126), { opcode: 9 }),
  'a fragmented ping': frame('x', { opcode: 9, fin: false }),
  'a continuation first': frame('x', { opcode: 0 }),
  'a new message inside a fragmented one': Buffer.concat([frame('x', { fin: false }), frame('y')]),
};

// Here the library drops the connection without a close frame.
const MAY_HANG_UP = ['a ping of 126 bytes'];

scenario('hostile, frames: what breaks the WebSocket protocol is closed with 1002', async (s) => {
  const server = await s.server();
  const bob = await threadOf(s, server);
  for (const [what, bytes] of Object.entries(PROTOCOL_ERRORS)) {
    for (const greeted of [false, true]) {
      const raw = await (await Raw.connect(server.port)).upgrade();
      if (greeted) {
        raw.write(frame(await helloBytes(server)));
        await raw.frame();
      }
      raw.write(bytes);
      const code = await raw.closeCode();
      assert.ok([1002, MAY_HANG_UP.includes(what) ? 1006 : 1002].includes(code), `${what}, ${greeted ? 'after' : 'before'} hello: ${code}`);
      await raw.destroy();
    }
  }
  await alive(bob);
});

scenario('hostile, frames: declared length 2^63-1 and lengths over the limit → 1009 at the header', async (s) => {
  const server = await s.server();
  const bob = await threadOf(s, server);
  const before = rss(server);
  const heads = {
    '2^63-1': Buffer.from('82ff7fffffffffffffff00000000', 'hex'),
    '1 GiB': Buffer.from('82ff000000004000000000000000', 'hex'),
    '65,537 bytes': Buffer.from('82ff000000000001000100000000', 'hex'),
  };
  for (const [what, head] of Object.entries(heads)) {
    const raw = await (await Raw.connect(server.port)).upgrade();
    raw.write(frame(await helloBytes(server)));
    await raw.frame();
    // The header alone, and some payload, since a server may look when the first bytes come.
    raw.write(Buffer.concat([head, Buffer.alloc(1000)]));
    assert.equal(await raw.closeCode(), 1009, what);
    await raw.destroy();
  }
  assert.ok(rss(server) - before < 32_768, 'memory unchanged');
  await alive(bob);
});

scenario('contract, sizes: 16 KiB before hello, 64 KiB after, 4 MiB for service, else 1009', async (s) => {
  const server = await s.server();
  const bob = await threadOf(s, server);
  const padded = (fields, size) => {
    const empty = encode({ ...fields, pad: '' }).length;
    let pad = size - empty;
    for (let i = 0; i < 4; i++) pad += size - encode({ ...fields, pad: 'p'.repeat(pad) }).length;
    const bytes = encode({ ...fields, pad: 'p'.repeat(pad) });
    assert.equal(bytes.length, size);
    return bytes;
  };
  const jwt = await token(server.dir, { user: 'alice' });
  const early = await s.client(server);
  const welcome = await early.requestRaw(padded({ op: 'hello', id: 1, token: jwt }, 16_384), 1);
  assert.equal(welcome.error, undefined, 'exactly 16 KiB');
  assert.equal(welcome.limits.frame, 65_536);
  assert.equal((await early.requestRaw(padded({ op: 'load_older', id: 2, thread: 't' }, 65_536), 2)).error, undefined, 'exactly 64 KiB');
  early.sendRaw(padded({ op: 'load_older', id: 3, thread: 't' }, 65_537));
  assert.equal(await early.closeWithin(10_000), 1009);
  const late = await s.client(server);
  late.sendRaw(padded({ op: 'hello', id: 1, token: jwt }, 16_385));
  assert.equal(await late.closeWithin(10_000), 1009);
  const svc = await s.service(server);
  assert.equal(svc.welcome.limits.frame, 4_194_304);
  assert.equal((await svc.requestRaw(padded({ op: 'load_older', id: 9, thread: 't' }, 4_194_304), 9)).error, undefined, 'exactly 4 MiB');
  svc.sendRaw(padded({ op: 'load_older', id: 10, thread: 't' }, 4_194_305));
  assert.equal(await svc.closeWithin(10_000), 1009);
  await alive(bob);
});

scenario('contract, transport: a text message → 1003, before and after hello', async (s) => {
  const server = await s.server();
  const bob = await threadOf(s, server);
  for (const greeted of [false, true]) {
    for (const text of ['', '{"op":"hello"}', 'x'.repeat(2000)]) {
      const client = greeted ? await s.session(server, 'alice') : await s.client(server);
      client.ws.send(text, { binary: false });
      assert.equal(await client.closeWithin(10_000), 1003);
    }
  }
  await alive(bob);
});

scenario('hostile, frames: one byte per segment of a valid message works; fragments too', async (s) => {
  const server = await s.server();
  await threadOf(s, server);
  const raw = await (await Raw.connect(server.port)).upgrade();
  for (const byte of frame(await helloBytes(server))) {
    raw.write(Buffer.from([byte]));
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal((await raw.frame()).opcode, 2);
  const bytes = Buffer.from(encode({ op: 'load_older', id: 2, thread: 't' }));
  const third = Math.ceil(bytes.length / 3);
  raw.write(frame(bytes.subarray(0, third), { fin: false }));
  raw.write(frame('ping', { opcode: 9 }));
  raw.write(frame(bytes.subarray(third, 2 * third), { opcode: 0, fin: false }));
  raw.write(frame(bytes.subarray(2 * third), { opcode: 0 }));
  const seen = [];
  while (seen.length < 2) seen.push((await raw.frame()).opcode);
  assert.deepEqual(seen.sort((a, b) => a - b), [2, 10], 'the reply and a pong');
  await raw.destroy();
});

scenario('hostile, frames: more than 64 fragments of one message are closed', async (s) => {
  const server = await s.server();
  const bob = await threadOf(s, server);
  const raw = await (await Raw.connect(server.port)).upgrade();
  raw.write(frame(await helloBytes(server)));
  await raw.frame();
  raw.write(frame('', { fin: false }));
  for (let i = 0; i < 200; i++) raw.write(frame('', { opcode: 0, fin: false }));
  await raw.closeCode();
  await alive(bob);
});

scenario('hostile, frames: half a frame then silence is closed at 10 s, others unaffected', { timeout: 60_000 }, async (s) => {
  const server = await s.server();
  const bob = await threadOf(s, server);
  const raw = await (await Raw.connect(server.port)).upgrade();
  raw.write(frame(await helloBytes(server)));
  await raw.frame();
  const begun = Date.now();
  raw.write(frame(Buffer.alloc(500)).subarray(0, 100));
  await alive(bob);
  await raw.closeCode(20_000);
  const ms = Date.now() - begun;
  assert.ok(ms >= 8_000 && ms <= 14_000, `closed after ${ms} ms`);
  await alive(bob);
});

scenario('hostile, frames: 10,000 pings: memory bounded, others served', async (s) => {
  const server = await s.server();
  const bob = await threadOf(s, server);
  const before = rss(server);
  const raw = await (await Raw.connect(server.port)).upgrade();
  raw.write(frame(await helloBytes(server)));
  await raw.frame();
  const ping = frame(Buffer.alloc(100), { opcode: 9 });
  raw.write(Buffer.concat(Array.from({ length: 10_000 }, () => ping)));
  for (let i = 0; i < 20; i++) await alive(bob);
  assert.ok(rss(server) - before < 32_768, `${rss(server) - before} KiB more`);
  await raw.destroy();
});

scenario('hostile, frames: a reset during writes and frames after close do no harm', async (s) => {
  const server = await s.server();
  const bob = await threadOf(s, server);
  for (let i = 0; i < 20; i++) {
    const raw = await (await Raw.connect(server.port)).upgrade();
    raw.write(frame(await helloBytes(server)));
    const load = frame(encode({ op: 'load_older', id: 2, thread: 't' }));
    raw.write(Buffer.concat(Array.from({ length: 200 }, () => load)));
    if (i % 2) raw.socket.resetAndDestroy?.();
    else {
      raw.write(frame(Buffer.from([0x03, 0xe8]), { opcode: 8 }));
      raw.write(Buffer.concat(Array.from({ length: 20 }, () => load)));
      await raw.closeCode();
    }
    await raw.destroy();
  }
  await alive(bob);
});

scenario('contract, sessions: a client that never reads fills its queue and is closed 4413; others unaffected', { timeout: 90_000 }, async (s) => {
  const server = await s.server(['--out-queue-max', '262144', '--slow-reader-timeout', '1s', '--close-timeout', '1s']);
  const bob = await threadOf(s, server);
  const svc = await s.service(server);
  for (let i = 0; i < 60; i++) await svc.ok('post', { thread: 't', text: 'z'.repeat(40_000) });
  const before = rss(server);
  const others = await metric(server, 'scrollback_connections');
  const raw = await (await Raw.connect(server.port)).upgrade();
  raw.write(frame(await helloBytes(server)));
  await raw.frame();
  raw.socket.pause();
  for (let i = 0; i < 400; i++) raw.write(frame(encode({ op: 'load_older', id: i + 2, thread: 't', limit: 50 })));
  const deadline = Date.now() + 15_000;
  while ((await metric(server, 'scrollback_closes_total{code="4413"}')) === 0) {
    await alive(bob);
    assert.ok(Date.now() < deadline, 'it is not closed');
  }
  while ((await metric(server, 'scrollback_connections')) > others) assert.ok(Date.now() < deadline, 'it holds on to the connection');
  assert.ok(rss(server) - before < 65_536, `${rss(server) - before} KiB more`);
  await raw.destroy();
  await alive(bob);
});

scenario('contract, sessions: a slow but reading client gets all its pages', { timeout: 90_000 }, async (s) => {
  const server = await s.server(['--out-queue-max', '65536']);
  await threadOf(s, server);
  const svc = await s.service(server);
  for (let i = 0; i < 30; i++) await svc.ok('post', { thread: 't', text: 'z'.repeat(30_000) });
  const client = await s.session(server, 'alice');
  const pages = await Promise.all(Array.from({ length: 40 }, () => client.ok('load_older', { thread: 't' })));
  for (const page of pages) assert.equal(page.messages.length, 31, 'larger than the queue, and whole');
});

scenario('contract, limits: rate-limit: a user past it gets rate_limited with a time to wait, another one does not', async (s) => {
  const server = await s.server(['--rate-limit', '20']);
  const bob = await threadOf(s, server);
  const alice = await s.session(server, 'alice');
  const second = await s.session(server, 'alice');
  const replies = await Promise.all(Array.from({ length: 200 }, (_, i) => (i % 2 ? alice : second).request('load_older', { thread: 't' })));
  const refused = replies.filter((reply) => reply.error);
  assert.ok(refused.length >= 100, `${refused.length} of 200 were refused`);
  for (const reply of refused) {
    assert.equal(reply.error.code, 'rate_limited');
    assert.ok(reply.error.retry_ms > 0 && reply.error.retry_ms <= 60_000, `retry_ms ${reply.error.retry_ms}`);
  }
  await alive(bob);
  const wait = Math.max(...refused.map((reply) => reply.error.retry_ms));
  await new Promise((resolve) => setTimeout(resolve, wait));
  await alive(alice);
});

// ---- MessagePack ----

const hex = (text) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const nested = (byte, n) => Buffer.concat([Buffer.alloc(n, byte), Buffer.from([0xc0])]);
const MALFORMED = {
  empty: Buffer.alloc(0),
  'the unused byte c1': hex('c1'),
  'c1 as a value': hex('81 a1 61 c1'),
  'truncated array': hex('93 01'),
  'array of 2^32-1': hex('dd ffffffff'),
  'map of 2^32-1': hex('df ffffffff'),
  'string of 2^32-1': hex('db ffffffff'),
  'bin of 2^32-1': hex('c6 ffffffff'),
  'a map that claims a large array': hex('81 a1 61 dd ffffffff'),
  'a map that claims a large string': hex('81 a1 61 db ffffffff 61'),
  '31 arrays of 2^27': Buffer.concat(Array.from({ length: 31 }, () => hex('dd 08000000'))),
  '4,000 nested arrays': nested(0x91, 4000),
  'nesting of 17': Buffer.concat([hex('81 a1 61'), nested(0x91, 16)]),
  'array of 65,532 nils': Buffer.concat([hex('dc fffc'), Buffer.alloc(65_000, 0xc0)]),
  'a duplicate key': hex('82 a1 74 01 a1 74 02'),
  'a duplicate key deeper': hex('81 a1 61 82 a1 74 01 a1 74 02'),
  'a duplicate key in another encoding': hex('82 a1 74 01 d9 01 74 02'),
  'invalid UTF-8': hex('81 a1 61 a2 c3 28'),
  'a surrogate in UTF-8': hex('81 a1 61 a3 eda080'),
  'beyond U+10FFFF': hex('81 a1 61 a4 f4908080'),
  'overlong UTF-8': hex('81 a1 61 a2 c0af'),
  'invalid UTF-8 in a key': hex('81 a2 c328 01'),
  'ext 1': hex('81 a1 61 d4 01 00'),
  'ext 8': hex('81 a1 61 c7 03 05 010203'),
  timestamp: hex('81 a1 61 d6 ff 00000000'),
  NaN: hex('81 a1 61 cb 7ff8000000000000'),
  'NaN of 32 bits': hex('81 a1 61 ca 7fc00000'),
  infinity: hex('81 a1 61 cb 7ff0000000000000'),
  'a trailing byte': hex('80 00'),
  'two maps': hex('80 80'),
  'an int as map key': hex('81 01 01'),
  'nil as map key': hex('81 c0 01'),
  'a map as map key': hex('81 80 01'),
  'a bin as map key': hex('81 c4 01 61 01'),
  'an int as key deeper': hex('81 a1 61 81 01 01'),
  'an array': hex('90'),
  nil: hex('c0'),
  'an int': hex('01'),
  'a string': hex('a1 61'),
};

scenario('hostile, MessagePack: malformed messages → 1007, before and after hello; memory unchanged', async (s) => {
  const server = await s.server();
  const bob = await threadOf(s, server);
  const before = rss(server);
  for (const greeted of [true, false]) {
    for (const [what, bytes] of Object.entries(MALFORMED)) {
      if (!greeted && bytes.length > 16_384) continue;
      const client = greeted ? await s.session(server, 'alice') : await s.client(server);
      client.sendRaw(bytes);
      assert.equal(await client.closeWithin(10_000), 1007, `${what}, ${greeted ? 'after' : 'before'} hello`);
    }
  }
  assert.ok(rss(server) - before < 32_768, `${rss(server) - before} KiB more`);
  await alive(bob);
});

scenario('hostile, MessagePack: each prefix of a valid request is malformed', async (s) => {
  const server = await s.server();
  const bob = await threadOf(s, server);
  const bytes = Buffer.from(encode({ op: 'load_older', id: 7, thread: 't', limit: 5, filter: { by: ['alice'], from: 2 ** 40 } }));
  const clients = [];
  for (let n = 0; n < bytes.length; n++) {
    const client = await s.session(server, 'alice');
    client.sendRaw(bytes.subarray(0, n));
    clients.push(client.closeWithin(10_000).then((code) => assert.equal(code, 1007, `the first ${n} bytes`)));
  }
  await Promise.all(clients);
  await alive(bob);
});

scenario('hostile, MessagePack: nesting of 16 is fine, floats are no integers, non-minimal ints are', async (s) => {
  const server = await s.server();
  const bob = await threadOf(s, server);
  // {op: "load_older", thread: "t", id: <int>, limit: <int>} in every width.
  const head = Buffer.concat([hex('84'), Buffer.from(encode('op')), Buffer.from(encode('load_older')), Buffer.from(encode('thread')), Buffer.from(encode('t'))]);
  const request = (id, limit) => Buffer.concat([head, Buffer.from(encode('id')), id, Buffer.from(encode('limit')), limit]);
  const widths = { fix: '05', u8: 'cc05', u16: 'cd0005', u32: 'ce00000005', u64: 'cf0000000000000005', i8: 'd005', i16: 'd10005', i32: 'd200000005', i64: 'd30000000000000005' };
  for (const [name, bytes] of Object.entries(widths)) {
    const reply = await bob.requestRaw(request(hex(bytes), hex(bytes)), 5);
    assert.equal(reply.error, undefined, `${name}: ${JSON.stringify(reply.error)}`);
    assert.equal(reply.messages.length, 1);
  }
  for (const [name, bytes] of Object.entries({ 'a double': 'cb4014000000000000', 'a float': 'ca40a00000', true: 'c3' })) {
    const reply = await bob.requestRaw(request(hex('05'), hex(bytes)), 5);
    assert.equal(reply.error?.code, 'bad_request', `limit as ${name}`);
    const anonymous = await bob.requestRaw(request(hex(bytes), hex('05')), null);
    assert.deepEqual([anonymous.re, anonymous.error?.code], [null, 'bad_request'], `id as ${name}`);
  }
  const deep = Buffer.concat([hex('84'), Buffer.from(encode('op')), Buffer.from(encode('load_older')), Buffer.from(encode('thread')), Buffer.from(encode('t')), Buffer.from(encode('id')), hex('08'), Buffer.from(encode('x')), nested(0x91, 15)]);
  assert.equal((await bob.requestRaw(deep, 8)).error, undefined, 'the outer map and 15 arrays');
});

scenario('contract, transport: id missing or of another type → re nil; unknown op → bad_request; extra fields ignored', async (s) => {
  const server = await s.server();
  const bob = await threadOf(s, server);
  for (const id of [undefined, null, 'one', -1, [], {}, true, Buffer.from([1])]) {
    const reply = await bob.requestRaw(encode({ op: 'load_older', id, thread: 't' }, { ignoreUndefined: true }), null);
    assert.deepEqual([reply.re, reply.error?.code], [null, 'bad_request'], String(id));
  }
  for (const op of ['fly', '', 'HELLO', 'load_older ', undefined, 5, null]) await bob.refused('bad_request', op);
  assert.deepEqual(await pageSeqs(bob, 'load_older', { thread: 't', colour: 'red', nested: { a: [1] } }), [1]);
  const big = await bob.requestRaw(encode({ op: 'load_older', id: 2 ** 53 - 1, thread: 't' }), 2 ** 53 - 1);
  assert.equal(big.error, undefined);
  const zero = await bob.requestRaw(encode({ op: 'load_older', id: 0, thread: 't' }), 0);
  assert.equal(zero.re, 0);
  const same = await Promise.all([1, 2, 3].map(() => bob.ok('load_older', { thread: 't' }, { id: 33 })));
  assert.equal(same.length, 3, 'three replies to one id used three times');
});

scenario('contract, transport: wrong types in every field of every operation → bad_request', async (s) => {
  const server = await s.server();
  const bob = await threadOf(s, server);
  const junk = [5, -1, 1.5, true, [], {}, Buffer.from([1, 2])];
  for (const op of ['load_older', 'load_newer', 'load_around', 'post', 'create_thread', 'set_member', 'members']) {
    for (const thread of [...junk, undefined, '', 'a\u0001b', 'x'.repeat(129)]) {
      await bob.refused('bad_request', op, { thread, text: 'x', user: 'u', role: 'reader', seq: 1 });
    }
  }
  for (const before of ['1', -1, 1.5, true, [], {}]) {
    await bob.refused('bad_request', 'load_older', { thread: 't', before });
    await bob.refused('bad_request', 'load_newer', { thread: 't', after: before });
    await bob.refused('bad_request', 'load_around', { thread: 't', seq: before });
    await bob.refused('bad_request', 'load_around', { thread: 't', at: before });
  }
  await alive(bob);
});

// ---- deadlines ----

scenario('contract, sessions: any operation before hello → 4401', async (s) => {
  const server = await s.server();
  const bob = await threadOf(s, server);
  for (const op of ['load_older', 'load_newer', 'load_around', 'post', 'threads', 'create_thread', 'set_member', 'members', 'fly', 'subscribe']) {
    const client = await s.client(server);
    client.sendRaw(encode({ op, id: 1, thread: 't', text: 'x', seq: 1 }));
    assert.equal(await client.closeWithin(10_000), 4401, op);
    assert.ok(client.strays.every((reply) => reply.error), `${op}: an answer before hello`);
  }
  await alive(bob);
});

scenario('contract, sessions: no hello in time → 4401, with pings or half a frame too', async (s) => {
  const server = await s.server(['--hello-timeout', '1s']);
  const begun = Date.now();
  const silent = await s.client(server);
  const pinging = await (await Raw.connect(server.port)).upgrade();
  pinging.write(frame('', { opcode: 9 }));
  const half = await (await Raw.connect(server.port)).upgrade();
  half.write(frame(Buffer.alloc(500)).subarray(0, 100));
  assert.equal(await silent.closeWithin(5_000), 4401);
  const ms = Date.now() - begun;
  assert.ok(ms >= 900 && ms <= 3_500, `closed after ${ms} ms`);
  assert.equal(await pinging.closeCode(5_000), 4401);
  assert.ok([4401, 1006].includes(await half.closeCode(5_000)));
});

scenario('contract, sessions: a client that answers no ping → 4408', async (s) => {
  const server = await s.server(['--heartbeat', '1s']);
  await threadOf(s, server);
  const lively = await s.session(server, 'alice'); // ws answers pings by itself
  assert.equal(lively.welcome.heartbeat_ms, 1000);
  const raw = await (await Raw.connect(server.port)).upgrade();
  raw.write(frame(await helloBytes(server)));
  const begun = Date.now();
  assert.equal(await raw.closeCode(10_000), 4408);
  const ms = Date.now() - begun;
  assert.ok(ms >= 900 && ms <= 5_000, `closed after ${ms} ms`);
  await alive(lively);
});

scenario('contract, limits: connections per address and in all: the next one is refused, a place that is free is taken', async (s) => {
  const server = await s.server(['--max-connections-per-address', '5', '--max-connections', '8']);
  const clients = [];
  for (let i = 0; i < 5; i++) clients.push(await s.client(server));
  const outcome = await Client.connect(server.url).then(
    async (client) => client.closeWithin(5_000),
    (error) => error.status ?? 'closed',
  );
  assert.equal(outcome, 4429, 'the sixth');
  const elsewhere = await Raw.connect(server.port, '127.0.0.1', '127.0.0.2');
  await elsewhere.upgrade();
  await elsewhere.destroy();
  await clients[0].close();
  const deadline = Date.now() + 5_000;
  for (;;) {
    const again = await s.client(server).catch(() => null);
    if (again && (await Promise.race([again.closed.then(() => false), again.hello(await token(server.dir, { user: 'alice' })).then(() => true, () => false)]))) break;
    assert.ok(Date.now() < deadline, 'the free place is not taken');
  }
});
