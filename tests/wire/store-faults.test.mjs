// What the disk, the clock and the limits of the process do to the store: hostile.md's
// "Store and process". The faults come from fault_preload.c, by LD_PRELOAD.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Client } from './lib/client.mjs';
import { Faults } from './lib/faults.mjs';
import { scenario } from './lib/harness.mjs';
import { seqs, walk } from './lib/pages.mjs';
import { Raw } from './lib/raw.mjs';
import { run } from './lib/server.mjs';
import { token } from './lib/token.mjs';

const DAY = 86_400;
const HOUR = 3_600;

async function house(s, args = [], options = {}) {
  const faults = new Faults(s.dir());
  const server = await s.server(args, { env: faults.env, ...options });
  const svc = await s.service(server);
  await svc.ok('create_thread', { thread: 't', members: { w: 'writer' } });
  const w = await s.session(server, 'w');
  return { faults, server, svc, w };
}

const post = (client, text, nonce) => client.request('post', { thread: 't', text, nonce });

async function texts(client) {
  return (await walk(client, 'load_newer', 't', { limit: 200 })).rows.map((row) => row.text);
}

async function checkOk(server, pattern) {
  const { code, stdout, stderr } = await run(['check', '--data', server.dir]);
  assert.equal(code, 0, stdout + stderr);
  if (pattern) assert.match(stdout + stderr, pattern);
}

for (const [mode, what] of [['s', 'short writes'], ['e', 'ENOSPC']]) {
  scenario(`hostile, store: disk full during posts (${what}): posts unavailable, reads go on, recovers with the space`, async (s) => {
    const { faults, server, w } = await house(s);
    const reserve = path.join(server.dir, 'reserve');
    assert.ok(fs.statSync(reserve).blocks * 512 >= 4 << 20, 'a reserve that is really there');
    for (let i = 0; i < 5; i++) assert.equal((await post(w, `before ${i}`)).seq, i + 1);
    faults.set(mode);
    for (let i = 0; i < 20; i++) {
      const reply = await post(w, 'lost', `full-${i}`);
      assert.equal(reply.error?.code, 'unavailable', JSON.stringify(reply));
      assert.equal((await texts(w)).length, 5, 'reads go on');
    }
    assert.ok(!fs.existsSync(reserve), 'the reserve is given up');
    assert.equal((await fetch(`${server.http}/healthz`)).status, 200);
    faults.set('-');
    const after = await post(w, 'after', 'full-0');
    assert.deepEqual([after.seq, after.duplicate], [6, undefined], JSON.stringify(after));
    assert.ok(fs.existsSync(reserve), 'and made again');
    await server.stop();
    await checkOk(server);
    await server.start();
    assert.deepEqual((await texts(await s.session(server, 'w'))).slice(4), ['before 4', 'after']);
  });
}

scenario('hostile, store: a file system that is really full', async (s) => {
  const dir = s.dir();
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=24m,mode=0700', 'tmpfs', dir]).status !== 0) {
    s.skip('no tmpfs can be mounted here');
    return;
  }
  try {
    const server = await s.server([], { dir });
    const svc = await s.service(server);
    await svc.ok('create_thread', { thread: 't', members: { w: 'writer' } });
    const w = await s.session(server, 'w');
    let stored = 0;
    const ballast = path.join(dir, 'ballast');
    fs.writeFileSync(ballast, Buffer.alloc(12 << 20));
    for (let refused; refused === undefined; ) {
      const reply = await post(w, 'x'.repeat(40_000));
      refused = reply.error;
      if (refused) assert.equal(refused.code, 'unavailable');
      else stored++;
      assert.ok(stored < 1000);
    }
    assert.equal((await texts(w)).length, stored);
    assert.equal((await post(w, 'small')).error?.code, 'unavailable', 'the reserve is not for posts');
    fs.rmSync(ballast);
    assert.equal((await post(w, 'again')).seq, stored + 1);
    await server.stop();
    await checkOk(server);
  } finally {
    spawnSync('umount', ['-l', dir]);
  }
});

for (const [mode, well, what] of [['y', 0, 'EIO on sync'], ['w', 0, 'EIO on a write'], ['y', 3, 'EIO on a later sync'], ['k', 2, 'kill -9 between commit and reply']]) {
  scenario(`hostile, store: ${what}: no ack, the process ends, a retry by nonce is one row`, async (s) => {
    const { faults, server, w } = await house(s);
    assert.equal((await post(w, 'first', 'n-first')).seq, 1);
    faults.set(mode, well);
    const acked = new Set(['first']);
    const sent = ['first'];
    for (let i = 0; server.running && i < 50; i++) {
      sent.push(`m${i}`);
      const reply = await post(w, `m${i}`, `n-m${i}`).catch(() => null);
      if (reply === null) break;
      if (!reply.error) acked.add(`m${i}`);
      else assert.ok(['unknown_outcome', 'unavailable', 'overloaded'].includes(reply.error.code), JSON.stringify(reply.error));
      if (reply.error?.code === 'unknown_outcome') break;
    }
    const { code, signal } = await server.exited;
    if (mode === 'k') assert.equal(signal, 'SIGKILL');
    else assert.ok(code > 0, `exit code ${code}, signal ${signal}`);
    assert.ok(acked.size <= well + 1, 'no ack after the fault');
    faults.set('-');
    await server.start();
    const back = await s.session(server, 'w');
    const there = await texts(back);
    for (const one of acked) assert.equal(there.filter((text) => text === one).length, 1, `acknowledged: ${one}`);
    for (const one of sent) {
      const reply = await post(back, one, `n-${one}`);
      assert.equal(reply.error, undefined);
      assert.equal(reply.duplicate === true, there.includes(one), one);
    }
    if (mode === 'k') assert.ok(there.includes(sent.at(-1)), 'it was durable before the reply');
    assert.deepEqual((await texts(back)).sort(), [...sent].sort(), 'each once');
    await server.stop();
    await checkOk(server);
  });
}

const cpuMs = (pid) => {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10; // ticks of 10 ms
};

scenario('hostile, process: descriptor limit reached: no spin, and it recovers', async (s) => {
  const { server, w } = await house(s);
  const open = fs.readdirSync(`/proc/${server.pid}/fd`).length;
  execFileSync('prlimit', ['--pid', String(server.pid), `--nofile=${open + 5}`]);
  const sockets = await Promise.all(Array.from({ length: 30 }, () => Raw.connect(server.port)));
  // A request goes through while connections wait to be accepted.
  assert.equal((await post(w, 'in between')).seq, 1);
  const before = cpuMs(server.pid);
  const begun = performance.now();
  // A measured stretch of time, not a wait for something to happen.
  while (performance.now() - begun < 1000) {
    await w.ok('load_older', { thread: 't' });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const used = cpuMs(server.pid) - before;
  s.diagnostic(`${used} ms of CPU in a second`);
  assert.ok(used <= 300, `${used} ms of CPU in a second`);
  for (const one of sockets) one.destroy();
  const late = await s.session(server, 'w');
  assert.equal((await post(late, 'after')).seq, 2);
  const after = (await (await fetch(`${server.http}/metrics`)).text()).match(/^scrollback_accept_errors_total (\d+)$/m);
  assert.ok(Number(after[1]) > 0, 'the limit was met');
});

scenario('hostile, process: system clock back one day at restart: `at` never goes back, check tells', async (s) => {
  const { faults, server, w } = await house(s);
  const first = await post(w, 'first');
  await server.stop();
  faults.clock(-DAY);
  await server.start();
  const svc = await client(server, { user: 'svc', service: true }, DAY * 3);
  const back = [];
  for (let i = 0; i < 3; i++) back.push(await svc.ok('post', { thread: 't', text: `back ${i}` }));
  for (const { at } of back) assert.equal(at, first.at, 'max(now, newest at)');
  await svc.ok('create_thread', { thread: 'fresh' });
  const fresh = await svc.ok('post', { thread: 'fresh', text: 'x' });
  assert.ok(fresh.at < first.at - (DAY - HOUR) * 1000, 'a thread of its own time');
  const { rows } = await walk(svc, 'load_older', 't', { limit: 2 });
  assert.deepEqual(seqs(rows), [1, 2, 3, 4]);
  await server.stop();
  const told = await run(['check', '--data', server.dir], { env: faults.env });
  assert.equal(told.code, 0, told.stdout + told.stderr);
  assert.match(told.stdout + told.stderr, /ahead/, 'a thread ahead of now');
  faults.clock(0);
  await checkOk(server);
});

// A session with a token that is still good when the server's clock is behind or ahead.
async function client(server, who, ttl) {
  const one = await Client.connect(server.url);
  const reply = await one.hello(await token(server.dir, { ...who, ttl }));
  assert.equal(reply.error, undefined, JSON.stringify(reply));
  return one;
}

scenario('hostile, cursors: the clock jumps ± 1 h: no early and no late accept', { timeout: 60_000 }, async (s) => {
  const { faults, server, svc } = await house(s, ['--cursor-ttl', '4s', '--snapshot-ttl', '30s']);
  for (let i = 0; i < 9; i++) await svc.ok('post', { thread: 't', text: `m${i}` });
  const reader = await client(server, { user: 'w' }, DAY);
  for (const jump of [HOUR, -HOUR, 0]) {
    const first = await reader.ok('load_older', { thread: 't', limit: 3 });
    const begun = performance.now();
    faults.clock(jump);
    const next = await reader.ok('load_older', { thread: 't', limit: 3, cursor: first.older });
    assert.deepEqual(seqs(next.messages), [4, 5, 6], `jump ${jump}: still good`);
    // Presented until it is refused: not before its time, and soon after.
    let refused;
    while (refused === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      const asked = performance.now() - begun;
      const reply = await reader.request('load_older', { thread: 't', limit: 3, cursor: first.older });
      const answered = performance.now() - begun;
      if (reply.error) {
        assert.equal(reply.error.code, 'invalid_cursor');
        refused = answered;
      } else assert.ok(asked < 4_000, `jump ${jump}: accepted after ${asked} ms`);
    }
    assert.ok(refused > 3_500, `jump ${jump}: refused after ${refused} ms`);
  }
  await reader.close();
});
