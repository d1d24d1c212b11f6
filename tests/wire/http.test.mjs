// The HTTP routes beside the WebSocket: health, metrics, refusals, the demo's token, static files.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { scenario } from './lib/harness.mjs';
import { run } from './lib/server.mjs';
import { token } from './lib/token.mjs';

// A plain request; fetch would not let us set Host or Origin.
function call(server, target, { method = 'GET', headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(
      { host: '127.0.0.1', port: server.port, path: target, method, headers, agent: false, setHost: !('Host' in headers) },
      (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString() }));
        response.on('error', reject);
      },
    );
    request.setTimeout(15_000, () => request.destroy(new Error(`no answer to ${method} ${target}`)));
    request.on('error', reject);
    request.end(body);
  });
}

scenario('contract, HTTP: /healthz and /readyz', async (s) => {
  const server = await s.server();
  const health = await call(server, '/healthz');
  assert.deepEqual([health.status, health.body.trim()], [200, 'ok']);
  assert.equal((await call(server, '/readyz')).status, 200);
  for (const target of ['/healthz/x', '/healthzz', '/nothing-here', '/..%2f..%2fetc/passwd', '/../../etc/passwd']) {
    const { status, body } = await call(server, target);
    assert.ok([400, 403, 404].includes(status), `${target}: ${status}`);
    assert.equal(body.includes('root:'), false);
  }
});

// The names and label sets of a metrics page, without the values.
function series(text) {
  const out = new Set();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const match = /^([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{[^}]*\})?) (\S+)( \d+)?$/.exec(line);
    assert.ok(match, `not a metric: ${line}`);
    assert.ok(Number.isFinite(Number(match[2])) || /^[+-]?Inf$|^NaN$/.test(match[2]), line);
    assert.equal(out.has(match[1]), false, `twice: ${match[1]}`);
    out.add(match[1]);
  }
  return out;
}

scenario('CVE-2023-6459: metrics: over 1,000 threads the set of labels is constant, no identifier in it', { timeout: 240_000 }, async (s) => {
  const server = await s.server();
  const svc = await s.service(server);
  const use = async (thread) => {
    await svc.ok('create_thread', { thread, members: { 'user-secret': 'writer' } });
    await svc.ok('post', { thread, text: 'x' });
    await svc.ok('load_older', { thread });
    await svc.refused('invalid_cursor', 'load_older', { thread, cursor: Buffer.alloc(0) });
  };
  await use('thread-secret-first');
  await svc.refused('bad_request', 'fly-secret');
  const page = await call(server, '/metrics');
  assert.equal(page.status, 200);
  assert.match(page.headers['content-type'] ?? '', /^text\/plain/);
  const before = series(page.body);
  assert.ok(before.size >= 5, 'some metrics');
  for (let i = 0; i < 1000; i += 50) await Promise.all(Array.from({ length: 50 }, (_, n) => use(`thread-secret-${i + n}`)));
  const after = await call(server, '/metrics');
  assert.deepEqual([...series(after.body)].sort(), [...before].sort());
  assert.equal(/secret|svc/.test(after.body), false, 'an identifier in the metrics');
});

scenario('contract, cursors: the cause of a refusal goes to the metrics only', async (s) => {
  const server = await s.server();
  const svc = await s.service(server);
  for (const thread of ['t', 'u']) {
    await svc.ok('create_thread', { thread });
    for (let i = 0; i < 3; i++) await svc.ok('post', { thread, text: 'x' });
  }
  const cursor = Buffer.from((await svc.ok('load_older', { thread: 't', limit: 1 })).older);
  const flipped = (at) => {
    const bytes = Buffer.from(cursor);
    bytes[at] ^= 1;
    return bytes;
  };
  const causes = async () => Object.fromEntries([...(await call(server, '/metrics')).body.matchAll(/^scrollback_cursors_refused_total\{cause="(\w+)"\} (\d+)$/gm)].map(([, cause, n]) => [cause, Number(n)]));
  const other = await s.service(server);
  for (const [cause, client, thread, bytes] of [
    ['malformed', svc, 't', Buffer.alloc(0)],
    ['bad_tag', svc, 't', flipped(cursor.length - 1)],
    ['binding', svc, 'u', cursor],
    ['unknown_handle', other, 't', cursor],
  ]) {
    const before = await causes();
    await client.refused('invalid_cursor', 'load_older', { thread, limit: 1, cursor: bytes });
    assert.deepEqual(await causes(), { ...before, [cause]: before[cause] + 1 });
  }
});

scenario('cursors: the last refusals with their causes, for a service\'s token only', async (s) => {
  const server = await s.server();
  const svc = await s.service(server);
  await svc.ok('create_thread', { thread: 'thread-secret', members: { 'user-secret': 'writer' } });
  for (let i = 0; i < 3; i++) await svc.ok('post', { thread: 'thread-secret', text: 'x' });
  const bearer = async (claims) => ({ headers: { Authorization: `Bearer ${await token(server.dir, claims)}` } });
  const service = await bearer({ user: 'svc', service: true });
  const ask = async () => {
    const reply = await call(server, '/debug/refusals', service);
    assert.equal(reply.status, 200, reply.body);
    assert.match(reply.headers['content-type'], /^application\/json/);
    return JSON.parse(reply.body);
  };
  assert.deepEqual((await ask()).last, []);
  const began = Date.now();
  const reader = await s.session(server, 'user-secret');
  const cursor = Buffer.from((await reader.ok('load_older', { thread: 'thread-secret', limit: 1 })).older);
  await reader.refused('invalid_cursor', 'load_newer', { thread: 'thread-secret', cursor });
  await reader.refused('invalid_cursor', 'threads', { cursor: Buffer.alloc(0) });
  const { counts, last } = await ask();
  assert.deepEqual(last.map(({ cause, op }) => [cause, op]), [['binding', 'load_newer'], ['malformed', 'threads']]);
  for (const { time } of last) assert.ok(time >= began - 5 && time <= Date.now() + 5);
  assert.deepEqual([counts.binding, counts.malformed, counts.expired], [1, 1, 0]);
  assert.deepEqual(Object.keys(last[0]), ['time', 'cause', 'op'], 'no identifier');
  for (let i = 0; i < 300; i++) await reader.refused('invalid_cursor', 'members', { thread: 'thread-secret', cursor: Buffer.alloc(3) });
  const many = await call(server, '/debug/refusals', service);
  assert.equal(JSON.parse(many.body).last.length, 256, 'bounded');
  assert.equal(/secret|svc/.test(many.body), false);

  const refused = new Set();
  for (const options of [
    {},
    await bearer({ user: 'user-secret' }),
    { headers: { Authorization: 'Bearer ' } },
    { headers: { Authorization: `Bearer ${'x'.repeat(3000)}` } },
    { headers: { Authorization: service.headers.Authorization.replace('Bearer', 'Basic') } },
    { headers: { Authorization: service.headers.Authorization.slice(0, -2) } },
  ]) {
    const reply = await call(server, '/debug/refusals', options);
    assert.equal(reply.status, 403);
    refused.add(reply.body);
  }
  assert.equal(refused.size, 1, 'one body for every refusal');
  assert.equal((await call(server, '/debug/refusals', { ...service, method: 'POST' })).status, 405);
  assert.equal((await call(server, '/debug/other', service)).status, 404);
});

scenario('metrics: what an operator needs is there, and moves', async (s) => {
  const server = await s.server();
  const svc = await s.service(server);
  const page = async () => Object.fromEntries([...(await call(server, '/metrics')).body.matchAll(/^(scrollback_\S+) (\S+)$/gm)].map(([, name, n]) => [name, Number(n)]));
  const before = await page();
  await svc.ok('create_thread', { thread: 't' });
  for (let i = 0; i < 10; i++) await svc.ok('post', { thread: 't', text: 'x' });
  await svc.ok('load_older', { thread: 't', limit: 5 });
  await svc.refused('forbidden', 'load_older', { thread: 'none' });
  const after = await page();
  const grew = (name, least) => assert.ok(after[`scrollback_${name}`] - before[`scrollback_${name}`] >= least, `${name}: ${before[`scrollback_${name}`]} → ${after[`scrollback_${name}`]}`);
  grew('requests_total{op="post"}', 10);
  grew('errors_total{code="forbidden"}', 1);
  grew('rows_total', 5);
  grew('received_bytes_total', 100);
  grew('sent_bytes_total', 100);
  grew('changes_total', 11);
  grew('commit_seconds_count', 11);
  grew('commit_seconds_sum', 0.000001);
  grew('commit_seconds_bucket{le="+Inf"}', 11);
  grew('store_version', 11);
  let last = 0;
  for (const [name, n] of Object.entries(after).filter(([one]) => one.includes('commit_seconds_bucket'))) {
    assert.ok(n >= last, `${name} is cumulative`);
    last = n;
  }
  assert.equal(last, after['scrollback_commit_seconds_count']);
  assert.equal(after['scrollback_changes_waiting'], 0);
  assert.ok(after.scrollback_resident_bytes > 1e6 && after.scrollback_uptime_seconds > 0);
  assert.ok(after.scrollback_store_bytes_used < after.scrollback_store_bytes_quota);
  assert.equal(Object.keys(after).filter((name) => /^scrollback_build_info\{version="\d+\.\d+\.\d+"\}$/.test(name)).length, 1);
  for (const name of ['connections', 'sockets', 'sessions', 'cursors', 'scans_waiting', 'scan_slices_total', 'corrupt_rows_total', 'store_rows_behind', 'closes_total{code="4413"}', 'cursors_refused_total{cause="bad_tag"}']) {
    assert.ok(`scrollback_${name}` in after, name);
  }
});

scenario('contract, HTTP: /metrics only from loopback, unless metrics-open', async (s) => {
  const server = await s.server([], { listen: '0.0.0.0:0' });
  const closed = await fromOutside(server.port);
  if (closed === null) {
    s.diagnostic('no address but loopback here: the outside half is not tried');
  } else {
    assert.ok([403, 404].includes(closed), `from outside: ${closed}`);
    const open = await s.server(['--metrics-open', 'true'], { listen: '0.0.0.0:0' });
    assert.equal(await fromOutside(open.port), 200);
  }
  assert.equal((await call(server, '/metrics')).status, 200);
});

// The status of /metrics asked through an address of this machine that is not loopback.
async function fromOutside(port) {
  const { networkInterfaces } = await import('node:os');
  const address = Object.values(networkInterfaces()).flat().find((one) => !one.internal && one.family === 'IPv4')?.address;
  if (address === undefined) return null;
  return new Promise((resolve, reject) => {
    http.get({ host: address, port, path: '/metrics', agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });
}

const demo = (server, overrides = {}) =>
  call(server, '/demo/token', {
    method: 'POST',
    body: JSON.stringify({ user: 'alice' }),
    ...overrides,
    headers: {
      Host: `127.0.0.1:${server.port}`,
      Origin: `http://127.0.0.1:${server.port}`,
      'Content-Type': 'application/json',
      ...overrides.headers,
    },
  });

scenario('contract, demo: off by default, and refused unless listening on loopback', async (s) => {
  const server = await s.server();
  assert.ok([403, 404, 405].includes((await demo(server)).status));
  const open = await run(['serve', '--data', s.dir(), '--listen', '0.0.0.0:0', '--demo-users', 'alice'], { timeout: 15_000 });
  assert.equal(open.code, 2, open.stderr);
  assert.match(open.stderr, /loopback/);
});

scenario('contract, demo: a token for the named users only, of ten minutes, that opens a session', async (s) => {
  const server = await s.server(['--demo-users', 'alice,bob']);
  for (const user of ['alice', 'bob']) {
    const reply = await demo(server, { body: JSON.stringify({ user }) });
    assert.equal(reply.status, 200, reply.body);
    const { token } = JSON.parse(reply.body);
    const claims = JSON.parse(Buffer.from(token.split('.')[1], 'base64url'));
    assert.equal(claims.sub, user);
    assert.notEqual(claims.role, 'service');
    const left = claims.exp - Date.now() / 1000;
    assert.ok(left > 580 && left <= 601, `${left} s`);
    const client = await s.client(server);
    assert.equal((await client.hello(token)).user, user);
  }
  for (const host of ['localhost', '[::1]']) {
    const reply = await demo(server, { headers: { Host: `${host}:${server.port}`, Origin: `http://${host}:${server.port}` } });
    assert.ok([200, 403].includes(reply.status), host);
  }
});

scenario('contract, demo: other users, origins, hosts, types and bodies get no token', async (s) => {
  const server = await s.server(['--demo-users', 'alice,bob']);
  const p = server.port;
  const json = (value) => ({ body: JSON.stringify(value) });
  const cases = {
    'a user not named': json({ user: 'carol' }),
    'a prefix of one': json({ user: 'alic' }),
    'both': json({ user: 'alice,bob' }),
    'no user': json({}),
    'a number': json({ user: 5 }),
    'a list': json(['alice']),
    'no JSON': { body: 'user=alice' },
    'an empty body': { body: '' },
    'a large body': json({ user: 'alice', pad: 'x'.repeat(100_000) }),
    'GET': { method: 'GET', body: undefined },
    'PUT': { method: 'PUT' },
    'no origin': { headers: { Origin: undefined } },
    'origin null': { headers: { Origin: 'null' } },
    'a foreign origin': { headers: { Origin: 'http://evil.example' } },
    'another port': { headers: { Origin: `http://127.0.0.1:${p + 1}` } },
    'a foreign host': { headers: { Host: `evil.example:${p}`, Origin: `http://evil.example:${p}` } },
    'a foreign host with a good origin': { headers: { Host: `evil.example:${p}` } },
    'a form': { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
    'plain text': { headers: { 'Content-Type': 'text/plain' } },
    'no type': { headers: { 'Content-Type': undefined } },
  };
  for (const [what, overrides] of Object.entries(cases)) {
    const headers = { ...overrides.headers };
    const reply = await demoWithout(server, { ...overrides, headers }).catch((error) => ({ status: 'reset', body: String(error) }));
    assert.ok(reply.status === 'reset' || (reply.status >= 400 && reply.status < 500), `${what}: ${reply.status}`);
    assert.equal(/eyJ/.test(reply.body), false, `${what}: a token`);
  }
  assert.equal((await demo(server)).status, 200, 'still serving');
});

// demo() with those headers left out that are given as undefined.
function demoWithout(server, overrides) {
  const base = {
    Host: `127.0.0.1:${server.port}`,
    Origin: `http://127.0.0.1:${server.port}`,
    'Content-Type': 'application/json',
    ...overrides.headers,
  };
  const headers = Object.fromEntries(Object.entries(base).filter(([, value]) => value !== undefined));
  const { body = JSON.stringify({ user: 'alice' }), method = 'POST' } = overrides;
  return call(server, '/demo/token', { method, headers, body: method === 'GET' ? undefined : body });
}

scenario('contract, HTTP: static files: type, policy, nothing outside of the folder', async (s) => {
  const root = s.dir();
  const web = path.join(root, 'web');
  fs.mkdirSync(path.join(web, 'sub'), { recursive: true });
  fs.writeFileSync(path.join(root, 'secret.txt'), 'top secret');
  fs.writeFileSync(path.join(web, 'index.html'), '<!doctype html><title>demo page</title>');
  fs.writeFileSync(path.join(web, 'app.js'), 'export const x = 1;\n');
  fs.writeFileSync(path.join(web, 'style.css'), 'body{}\n');
  fs.writeFileSync(path.join(web, 'sub', 'more.js'), 'export const y = 2;\n');
  const server = await s.server(['--web', web]);
  const page = await call(server, '/');
  assert.equal(page.status, 200);
  assert.match(page.body, /demo page/);
  assert.match(page.headers['content-type'], /^text\/html/);
  assert.ok(page.headers['content-security-policy'], 'a Content-Security-Policy');
  assert.equal(page.headers['x-content-type-options'], 'nosniff');
  assert.match((await call(server, '/app.js')).headers['content-type'], /javascript/);
  assert.match((await call(server, '/style.css')).headers['content-type'], /^text\/css/);
  assert.match((await call(server, '/sub/more.js')).body, /y = 2/);
  for (const target of [
    '/../secret.txt', '/%2e%2e/secret.txt', '/..%2fsecret.txt', '/sub/../../secret.txt', '/sub/%2e%2e/%2e%2e/secret.txt',
    '/....//secret.txt', '/..\\secret.txt', `/${root}/secret.txt`, `//${root}/secret.txt`, '/missing.js', '/sub',
  ]) {
    const { status, body } = await call(server, target).catch(() => ({ status: 0, body: '' }));
    assert.equal(body.includes('top secret'), false, target);
    assert.ok(status !== 200 || target === '/sub', `${target}: ${status}`);
  }
  assert.deepEqual((await call(server, '/healthz')).status, 200, 'the routes go first');
});
