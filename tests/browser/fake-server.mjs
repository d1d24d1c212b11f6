/*
 * fake-server.mjs - the page's server for work on the page: the client tests' backend behind
 * real sockets, and the folder build/web over HTTP. The browser test runs against it when
 * SB_BROWSER_FAKE=1; what counts is the run against the real server.
 */
import { createServer } from 'node:http';
import { readFileSync, existsSync } from 'node:fs';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { decode, encode } from '@msgpack/msgpack';
import { WebSocketServer } from 'ws';
import { FakeBackend } from '../../protocol/js/test/fake-backend.mjs';

const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml' };
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'";

/** Rows of the JSON Lines form into a backend. */
export function importRows(backend, rows) {
  const seqs = new Map();
  for (const { thread, id, reply_to_id, reactions, ...row } of rows) {
    if (!backend.threads.has(thread)) backend.addThread(thread);
    const t = backend.threads.get(thread);
    if (!t.members.has(row.by)) t.members.set(row.by, 'writer');
    const counts = Object.entries(reactions ?? {}).map(([emoji, users]) => [emoji, { count: users.length, mine: false }]);
    const stored = backend.addMessage(thread, { ...row, reply_to: seqs.get(`${thread}\n${reply_to_id}`),
      reactions: counts.length > 0 ? Object.fromEntries(counts) : undefined });
    seqs.set(`${thread}\n${id}`, stored.seq);
  }
}

export async function startFakeServer({ web, rows, users = ['alice', 'bob'], port = 0 }) {
  const backend = new FakeBackend({ now: () => Date.now() });
  importRows(backend, rows);
  const http = createServer((request, response) => {
    if (request.method === 'POST' && request.url === '/demo/token') return giveToken(request, response, users);
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname));
    const file = join(web, path === '/' ? 'index.html' : path);
    const type = TYPES[extname(file)];
    if (!existsSync(file) || type === undefined) return response.writeHead(404).end();
    return response.writeHead(200, { 'content-type': type, 'content-security-policy': CSP }).end(readFileSync(file));
  });
  const sockets = new WebSocketServer({ server: http, path: '/v1', handleProtocols: () => 'scrollback.v1' });
  sockets.on('connection', (socket) => {
    const session = backend.session();
    socket.on('message', (bytes) => {
      const reply = backend.handle(session, decode(bytes));
      socket.send(encode(reply, { ignoreUndefined: true }));
      if (reply.error?.code === 'unauthenticated') socket.close(4401);
    });
  });
  await new Promise((resolve) => { http.listen(port, '127.0.0.1', resolve); });
  const where = `127.0.0.1:${http.address().port}`;
  return {
    backend,
    page: `http://${where}/`,
    url: `ws://${where}/v1`,
    token: (user) => tokenFor(user),
    dropConnections: () => { for (const socket of sockets.clients) socket.terminate(); },
    stop: async () => {
      for (const socket of sockets.clients) socket.terminate();
      http.closeAllConnections();
      await new Promise((resolve) => { http.close(resolve); });
    },
  };
}

function tokenFor(user) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ sub: user, exp: Math.floor(Date.now() / 1000) + 600 })}.fake`;
}

function giveToken(request, response, users) {
  let body = '';
  request.on('data', (chunk) => { body += chunk; });
  request.on('end', () => {
    const { user } = JSON.parse(body);
    if (!users.includes(user)) return response.writeHead(403).end();
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ token: tokenFor(user) }));
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [web, jsonl, port] = process.argv.slice(2);
  if (jsonl === undefined) {
    process.stderr.write('usage: node fake-server.mjs WEB_FOLDER ROWS.jsonl [PORT]\n');
    process.exitCode = 2;
  } else {
    const rows = readFileSync(jsonl, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
    const server = await startFakeServer({ web, rows, port: Number(port ?? 0) });
    process.stdout.write(`listening on ${server.page}\n`);
  }
}
