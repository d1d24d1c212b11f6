// What was acknowledged is there, exactly once, whatever ends the process.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { scenario } from './lib/harness.mjs';
import { seqs, walk } from './lib/pages.mjs';
import { Rand, newSeed } from './lib/rand.mjs';
import { STOP_MS, run } from './lib/server.mjs';

const WRITERS = 4;
const PIPELINE = 8;

// Posts for ever, PIPELINE at a time, until the connection ends. Each acknowledged post
// goes to `acked` (nonce → seq), each other one that was sent to `unknown`.
function pour(client, name, state) {
  let n = 0;
  const one = async () => {
    for (;;) {
      const nonce = `${name}-${n++}`;
      state.unknown.add(nonce);
      let reply;
      try {
        reply = await client.request('post', { thread: 't', text: nonce, nonce });
      } catch {
        return;
      }
      if (reply.error) {
        assert.ok(['unavailable', 'overloaded', 'unknown_outcome'].includes(reply.error.code), JSON.stringify(reply.error));
        continue;
      }
      state.unknown.delete(nonce);
      state.acked.set(nonce, reply.seq);
      state.count++;
      state.onAck?.();
    }
  };
  return Promise.all(Array.from({ length: PIPELINE }, one));
}

async function house(s) {
  const server = await s.server();
  const svc = await s.service(server);
  const members = Object.fromEntries(Array.from({ length: WRITERS }, (_, i) => [`w${i}`, 'writer']));
  await svc.ok('create_thread', { thread: 't', members });
  return server;
}

async function writers(s, server) {
  return Promise.all(Array.from({ length: WRITERS }, (_, i) => s.session(server, `w${i}`)));
}

// Every acknowledged post is there once under its seq; seqs are dense; nothing is there twice.
async function verify(s, server, state) {
  const svc = await s.service(server);
  const { rows } = await walk(svc, 'load_newer', 't', { limit: 200 });
  const bySeq = new Map(rows.map((row) => [row.seq, row.text]));
  const texts = new Map(rows.map((row) => [row.text, row.seq]));
  assert.equal(bySeq.size, rows.length, 'a seq twice');
  assert.equal(texts.size, rows.length, 'a post twice');
  assert.deepEqual(seqs(rows).sort((a, b) => a - b), Array.from({ length: rows.length }, (_, i) => i + 1), 'dense');
  for (const [nonce, seq] of state.acked) assert.equal(bySeq.get(seq), nonce, `acknowledged post ${nonce} is lost`);
  for (const text of texts.keys()) assert.ok(state.acked.has(text) || state.unknown.has(text), `${text} was never sent`);
  return { svc, texts };
}

scenario('hostile, store: kill -9 under posting load, 20 times: acknowledged is durable, retries by nonce are one row', { timeout: 600_000 }, async (s) => {
  const seed = newSeed();
  s.diagnostic(`seed ${seed}`);
  const rand = new Rand(seed);
  const server = await house(s);
  const state = { acked: new Map(), unknown: new Set(), count: 0 };
  for (let round = 0; round < 20; round++) {
    const clients = await writers(s, server);
    const target = state.count + rand.between(1, 400);
    const reached = new Promise((resolve) => {
      state.onAck = () => state.count >= target && resolve();
    });
    const pours = clients.map((client, i) => pour(client, `r${round}w${i}`, state));
    await reached;
    await server.kill9();
    await Promise.all(pours);
    await server.start();
    const { svc, texts } = await verify(s, server, state);
    await svc.close();
    await retry(s, server, state, texts, rand);
  }
  s.diagnostic(`${state.acked.size} posts acknowledged over 20 kills`);
  await verify(s, server, state);
});

// Sends the lost ones and some acknowledged ones again, each by its own author.
async function retry(s, server, state, texts, rand) {
  const again = [...state.acked.keys()].filter(() => rand.chance(20 / (state.acked.size + 1)));
  const clients = await writers(s, server);
  for (const nonce of [...state.unknown, ...again]) {
    const client = clients[Number(/w(\d+)-/.exec(nonce)[1])];
    const reply = await client.ok('post', { thread: 't', text: nonce, nonce });
    assert.equal(reply.duplicate === true, texts.has(nonce), `${nonce}: duplicate`);
    if (state.acked.has(nonce)) assert.equal(reply.seq, state.acked.get(nonce), `${nonce}: same seq`);
    state.unknown.delete(nonce);
    state.acked.set(nonce, reply.seq);
  }
  await Promise.all(clients.map((client) => client.close()));
}

scenario('hostile, store: SIGTERM under load: exit 0 in time, clients told 1001, all acknowledged posts there', async (s) => {
  const server = await house(s);
  const state = { acked: new Map(), unknown: new Set(), count: 0 };
  for (let round = 0; round < 3; round++) {
    const clients = await writers(s, server);
    const idle = await s.session(server, 'w0');
    const reached = new Promise((resolve) => {
      state.onAck = () => state.count >= 200 * (round + 1) && resolve();
    });
    const pours = clients.map((client, i) => pour(client, `r${round}w${i}`, state));
    await reached;
    await server.stop(); // asserts exit 0 within STOP_MS
    await Promise.all(pours);
    assert.equal(await idle.closeWithin(STOP_MS), 1001);
    for (const client of clients) assert.equal(await client.closeWithin(STOP_MS), 1001);
    await server.start();
    const { svc, texts } = await verify(s, server, state);
    for (const nonce of [...state.unknown].filter((one) => texts.has(one))) {
      state.unknown.delete(nonce);
      state.acked.set(nonce, texts.get(nonce));
    }
    await svc.close();
  }
});

scenario('hostile, store: a SIGTERM with nothing to do, and SIGINT, exit 0', async (s) => {
  const server = await s.server();
  await server.stop();
  await server.start();
  server.child.kill('SIGINT');
  assert.deepEqual(await server.exited, { code: 0, signal: null });
});

scenario('hostile, store: a second server on the same directory refuses with exit 3 and says why', async (s) => {
  const server = await s.server();
  const second = await run(['serve', '--data', server.dir, '--listen', '127.0.0.1:0'], { timeout: 20_000 });
  assert.equal(second.code, 3, second.stderr);
  assert.match(second.stderr, /in use|another process|already/i);
  assert.equal(second.stdout.includes('listening'), false);
  for (const args of [['import', '--data', server.dir, '--format', 'jsonl', '/dev/null'], ['check', '--data', server.dir]]) {
    const other = await run(args, { timeout: 20_000 });
    assert.equal(other.code, 3, `${args[0]}: ${other.stderr}`);
    assert.match(other.stderr, /in use|another process|already/i);
  }
  const svc = await s.service(server);
  await svc.ok('create_thread', { thread: 'still-here' });
});

const refusesToServe = async (dir, pattern, what) => {
  const result = await run(['serve', '--data', dir, '--listen', '127.0.0.1:0'], { timeout: 20_000 });
  assert.equal(result.code, 3, `${what}: code ${result.code} signal ${result.signal}\n${result.stderr}`);
  assert.match(result.stderr, pattern, what);
  assert.equal(result.stdout.includes('listening'), false, what);
};

async function filled(s) {
  const dir = s.dir();
  const rows = Array.from({ length: 3000 }, (_, i) => ({ thread: 't', at: 1_600_000_000_000 + i, by: 'a', text: `text ${i}`.repeat(5), id: `${i}` }));
  await s.importRows(dir, rows);
  const data = fs.readdirSync(dir).find((name) => name.endsWith('.mdb') && !name.includes('lock'));
  assert.ok(data, `no data file in ${fs.readdirSync(dir)}`);
  return { dir, data: path.join(dir, data) };
}

scenario('hostile, store: a foreign data file: refused with exit 3, left as it was', async (s) => {
  const { dir, data } = await filled(s);
  for (const bytes of [Buffer.alloc(65_536, 0x41), Buffer.from('not a store'), Buffer.alloc(16_384)]) {
    fs.writeFileSync(data, bytes, { mode: 0o600 });
    await refusesToServe(dir, /\S/, `${bytes.length} bytes`);
    assert.deepEqual(fs.readFileSync(data), bytes, 'untouched');
  }
});

scenario('hostile, store: a truncated data file: refused with exit 3', async (s) => {
  const { dir, data } = await filled(s);
  const whole = fs.readFileSync(data);
  for (const part of [0.9, 0.5, 0.1]) {
    fs.writeFileSync(data, whole.subarray(0, Math.floor((whole.length * part) / 4096) * 4096));
    await refusesToServe(dir, /trunc|short|not (one )?of ours|damaged/i, `${part} of it`);
  }
  fs.writeFileSync(data, whole);
  const server = await s.server([], { dir });
  const client = await s.session(server, 'a');
  assert.equal((await walk(client, 'load_older', 't', { limit: 200 })).rows.length, 3000);
});

scenario('hostile, store: a world-readable directory or key file: refused with exit 3', async (s) => {
  const { dir, data } = await filled(s);
  const keys = path.join(dir, 'keys.json');
  await refusesUntilClosed(s, dir, data, 0o644, 0o600);
  if (!fs.existsSync(keys)) {
    const server = await s.server([], { dir });
    await server.stop();
  }
  await refusesUntilClosed(s, dir, keys, 0o644, 0o600);
  const server = await s.server([], { dir });
  await server.stop();
});

async function refusesUntilClosed(s, dir, file, open, closed) {
  fs.chmodSync(dir, 0o755);
  fs.chmodSync(file, open);
  await refusesToServe(dir, /read|mode|permission|others/i, file);
  fs.chmodSync(dir, 0o700);
  fs.chmodSync(file, closed);
}

scenario('hostile, store: past the quota writes are refused as unavailable, reads go on, also after a restart', { timeout: 180_000 }, async (s) => {
  const server = await s.server(['--quota', '4MiB']);
  const svc = await s.service(server);
  await svc.ok('create_thread', { thread: 't', members: { w0: 'writer' } });
  const w0 = await s.session(server, 'w0');
  let stored = 0;
  for (let refusal; refusal === undefined; ) {
    const reply = await w0.request('post', { thread: 't', text: 'q'.repeat(20_000) });
    refusal = reply.error;
    if (refusal) assert.equal(refusal.code, 'unavailable', JSON.stringify(refusal));
    else stored++;
    assert.ok(stored < 2000, 'the quota was never reached');
  }
  assert.ok(stored > 20, `${stored} posts in 4 MiB`);
  assert.equal((await walk(w0, 'load_older', 't', { limit: 50 })).rows.length, stored);
  assert.equal((await fetch(`${server.http}/healthz`)).status, 200, 'reads work');
  await w0.refused('unavailable', 'post', { thread: 't', text: 'q'.repeat(20_000) });
  await server.stop();
  await server.start(['--quota', '64MiB']);
  const back = await s.session(server, 'w0');
  const post = await back.ok('post', { thread: 't', text: 'room again' });
  assert.equal(post.seq, stored + 1, 'a refused post took no seq');
  assert.equal((await walk(back, 'load_older', 't', { limit: 50 })).rows.length, stored + 1);
});

scenario('program: what one run wrote the next one reads, and `check` finds nothing wrong', async (s) => {
  const server = await house(s);
  const w0 = await s.session(server, 'w0');
  for (let i = 0; i < 50; i++) await w0.ok('post', { thread: 't', text: `m${i}` });
  await server.kill9();
  const checked = await run(['check', '--data', server.dir]);
  assert.equal(checked.code, 0, checked.stdout + checked.stderr);
  await server.start();
  const again = await s.session(server, 'w0');
  assert.equal((await walk(again, 'load_older', 't')).rows.length, 50);
});
