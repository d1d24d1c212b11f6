// What a page costs the server at the newest end of a thread and deep inside it.
//
//   node loadtest/depth.mjs PROGRAM DIR USER THREAD SEQ
//
// Serves DIR on core 0, walks 19 pages back from the newest row and 19 back from SEQ, in
// turns, 40 times, and prints the median server CPU per page of both. Needs the npm packages
// of tests/wire (./run setup test).

import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';

const { WebSocket } = createRequire(new URL('../tests/wire/package.json', import.meta.url))('ws');
const { decode, encode } = createRequire(new URL('../tests/wire/package.json', import.meta.url))('@msgpack/msgpack');

const [program, dir, user, thread, seq] = process.argv.slice(2);
if (seq === undefined) {
  console.error('usage: node loadtest/depth.mjs PROGRAM DIR USER THREAD SEQ');
  process.exit(2);
}
const PAGES = 19;
const ROUNDS = 40;

const server = spawn('taskset', ['-c', '0', program, 'serve', '--data', dir, '--listen', '127.0.0.1:0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const line = await new Promise((resolve) => server.stdout.once('data', (data) => resolve(String(data))));
const token = execFileSync(program, ['token', '--data', dir, '--user', user], { encoding: 'utf8' }).trim();
const socket = new WebSocket(line.trim().split(' ')[2], 'scrollback.v1');
socket.binaryType = 'nodebuffer';
await new Promise((resolve) => socket.on('open', resolve));

let id = 0;
let answer;
socket.on('message', (data) => answer(decode(data)));
const request = (op, fields) =>
  new Promise((resolve) => {
    answer = resolve;
    socket.send(encode({ op, id: ++id, ...fields }));
  });
const cpuUs = () => Number(fs.readFileSync(`/proc/${server.pid}/schedstat`, 'utf8').split(' ')[0]) / 1000;

async function walk(first) {
  let page = await request('load_older', { thread, limit: 50, ...first });
  const before = cpuUs();
  for (let i = 0; i < PAGES; i++) {
    if (!page.older) throw new Error(`the walk ended after ${i} pages: ${JSON.stringify(page.error ?? {})}`);
    page = await request('load_older', { thread, limit: 50, cursor: page.older });
  }
  return (cpuUs() - before) / PAGES;
}

await request('hello', { token });
await walk({});
const newest = [];
const deep = [];
for (let i = 0; i < ROUNDS; i++) {
  newest.push(await walk({}));
  deep.push(await walk({ before: Number(seq) }));
}
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const [a, b] = [median(newest), median(deep)];
console.log(`newest ${a.toFixed(1)} us/page, before ${seq} ${b.toFixed(1)} us/page, ratio ${(b / a).toFixed(2)}`);
server.kill('SIGTERM');
server.on('exit', (code) => process.exit(code ?? 1));
