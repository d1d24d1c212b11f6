// One end-to-end walk with the server under valgrind: import, serve, post, scroll to the end in
// both directions, stop. Any memory error or definite leak of the server is a failure.
//
// Suppressions (tests/valgrind.supp) are for libraries only, each with its reason.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { Client } from './lib/client.mjs';
import { binary, projectRoot, fixtures } from './lib/server.mjs';

const ERRORS = 97; // exit code that valgrind gives when it found something
const supp = path.join(projectRoot, 'tests/valgrind.supp');
const valgrind = ['-q', '--leak-check=full', '--errors-for-leak-kinds=definite',
  '--show-leak-kinds=definite', '--track-fds=no', `--error-exitcode=${ERRORS}`, `--suppressions=${supp}`];

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'scrollback-valgrind-'));
const data = path.join(dir, 'data');
const run = (...args) =>
  execFileSync('valgrind', [...valgrind, binary, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

console.log(run('import', '--data', data, '--format', 'jsonl', path.join(fixtures, 'jsonl/mixed.jsonl')).trim());
const server = spawn('valgrind', [...valgrind, binary, 'serve', '--data', data, '--listen', '127.0.0.1:0'],
  { stdio: ['ignore', 'pipe', 'inherit'] });
const exited = once(server, 'exit');
const [line] = await once(server.stdout.setEncoding('utf8'), 'data');
const url = /^listening on (\S+)/.exec(line)[1];
const token = execFileSync(binary, ['token', '--data', data, '--user', 'keeper', '--service'], { encoding: 'utf8' }).trim();

const client = await Client.connect(url);
await client.ok('hello', { token });
const { threads } = await client.ok('threads', {});
assert.ok(threads.length > 0);
await client.ok('create_thread', { thread: 'valgrind', members: { ada: 'writer' } });
for (let i = 0; i < 20; i++) await client.ok('post', { thread: 'valgrind', text: `message ${i}`, nonce: `n${i}` });

let rows = 0;
for (const { thread } of [...threads, { thread: 'valgrind' }]) {
  const seen = { load_older: [], load_newer: [] };
  for (const [op, next] of [['load_older', 'older'], ['load_newer', 'newer']]) {
    for (let cursor; ; ) {
      const page = await client.ok(op, { thread, limit: 7, ...(cursor ? { cursor } : {}) });
      const seqs = page.messages.map((m) => m.seq);
      if (op === 'load_older') seen[op].unshift(...seqs);
      else seen[op].push(...seqs);
      if (page[next] === null) break;
      cursor = page[next];
    }
  }
  assert.deepEqual(seen.load_older, seen.load_newer, `both ways over ${thread}`);
  rows += seen.load_older.length;
  await client.ok('load_around', { thread, seq: 1, filter: { by: ['ada', 'ben'] } });
  await client.ok('members', { thread });
}
server.kill('SIGTERM');
const [code] = await exited;
fs.rmSync(dir, { recursive: true, force: true });
assert.equal(code, 0, code === ERRORS ? 'valgrind found errors, see above' : `the server exited with ${code}`);
console.log(`walked ${rows} rows both ways under valgrind: clean`);
