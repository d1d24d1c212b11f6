// Hostile handshakes: what must not become a WebSocket, over raw sockets.

import assert from 'node:assert/strict';
import { scenario } from './lib/harness.mjs';
import { Raw, upgradeText } from './lib/raw.mjs';

const h = (headers) => ({ headers });

// what → [request, the statuses that are right; 0 is closed without an answer]
const HANDSHAKES = {
  'version 12': [h({ 'Sec-WebSocket-Version': '12' }), [426]],
  'version absent': [h({ 'Sec-WebSocket-Version': null }), [426]],
  'version "13, 8"': [h({ 'Sec-WebSocket-Version': '13, 8' }), [426]],
  'version 8': [h({ 'Sec-WebSocket-Version': '8' }), [426]],
  'version 130': [h({ 'Sec-WebSocket-Version': '130' }), [426]],
  POST: [{ method: 'POST' }, [400, 405]],
  PUT: [{ method: 'PUT' }, [400, 405, 0]],
  'Content-Length': [h({ 'Content-Length': '5' }), [400]],
  'Content-Length 0': [h({ 'Content-Length': '0' }), [400]],
  'negative Content-Length': [h({ 'Content-Length': '-1' }), [400, 0]],
  'Transfer-Encoding': [h({ 'Transfer-Encoding': 'chunked' }), [400]],
  'key absent': [h({ 'Sec-WebSocket-Key': null }), [400, 0]],
  'key twice': [h({ 'Sec-WebSocket-Key': ['dGhlIHNhbXBsZSBub25jZQ==', 'dGhlIHNhbXBsZSBub25jZQ=='] }), [400]],
  'key of 3 bytes': [h({ 'Sec-WebSocket-Key': 'AAAA' }), [400]],
  'key of 25 characters': [h({ 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==a' }), [400]],
  'key that is not base64': [h({ 'Sec-WebSocket-Key': '!!!!!!!!!!!!!!!!!!!!!!==' }), [400]],
  'Upgrade: h2c': [h({ Upgrade: 'h2c' }), [400, 404, 426, 501, 0]],
  'subprotocol absent': [h({ 'Sec-WebSocket-Protocol': null }), [400]],
  'subprotocol unknown': [h({ 'Sec-WebSocket-Protocol': 'scrollback.v2' }), [400, 0]],
  'subprotocol with a suffix': [h({ 'Sec-WebSocket-Protocol': 'scrollback.v1x' }), [400, 0]],
  'wrong path': [{ path: '/v2' }, [404]],
  'path with a NUL': [{ path: '/v1%00' }, [404, 400, 0]],
  'path below': [{ path: '/v1/x' }, [404]],
  'root path': [{ path: '/' }, [404]],
  'HTTP/2 preface': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400, 403, 404, 405, 505, 0]],
  'a TLS hello': [Buffer.from('16030100c8010000c40303' + '00'.repeat(200), 'hex'), [400, 403, 0]],
  'a header over the limit': [h({ 'X-Long': 'x'.repeat(20_000) }), [400, 413, 431, 0]],
  'a thousand headers': [h(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`X-${i}`, 'y']))), [400, 413, 431, 0]],
  'no HTTP at all': ['\r\n\r\n\u0000\u0001\u0002\r\n\r\n', [400, 403, 0]],
};

// What the library's parser evens out before any hook can see it: `//v1` is `/v1`, a bare
// LF ends a line. Refused or a connection like any other, nothing else.
const EVENED_OUT = {
  'two slashes': [{ path: '//v1' }, [101, 404]],
  'bare LF': [{ eol: '\n' }, [101, 400, 0]],
};

async function answer(server, request) {
  const raw = await Raw.connect(server.port);
  raw.write(typeof request === 'string' || Buffer.isBuffer(request) ? request : upgradeText(request));
  const status = await raw.status(15_000);
  if (status >= 400) await raw.wholeBody();
  const body = raw.data.toString('latin1');
  await raw.destroy();
  return { status, body };
}

scenario('hostile, handshake: the table: none becomes a WebSocket, each gets its status', { timeout: 300_000 }, async (s) => {
  const server = await s.server();
  const wrong = [];
  await Promise.all(
    Object.entries({ ...HANDSHAKES, ...EVENED_OUT }).map(async ([what, [request, right]]) => {
      const { status } = await answer(server, request).catch((error) => ({ status: `open: ${error.message}` }));
      if (!right.includes(status)) wrong.push(`${what}: ${status}, right is ${right}`);
    }),
  );
  assert.deepEqual(wrong, []);
  const good = await Raw.connect(server.port);
  await good.upgrade();
  await good.destroy();
});

scenario('contract, handshake: the good one, with several subprotocols, other cases of tokens, a query', async (s) => {
  const server = await s.server();
  for (const headers of [
    {},
    { 'Sec-WebSocket-Protocol': 'scrollback.v1, other' },
    { Upgrade: 'WebSocket' },
    { Connection: 'keep-alive, Upgrade' },
    { 'User-Agent': 'x'.repeat(500) },
  ]) {
    const raw = await Raw.connect(server.port);
    await raw.upgrade({ headers });
    assert.match(raw.headerText() || 'sec-websocket-protocol: scrollback.v1', /scrollback\.v1/i);
    await raw.destroy();
  }
});

scenario('CVE-2023-0957: cross-site WebSocket: the Origin matrix, one body for all refusals', async (s) => {
  const server = await s.server();
  const p = server.port;
  const good = [
    null, `http://127.0.0.1:${p}`, `http://localhost:${p}`, `http://[::1]:${p}`,
  ];
  const bad = [
    'null', '', 'http://evil.example', `http://evil.example:${p}`, `http://127.0.0.1:${p}.evil.example`,
    `http://evil.example/http://127.0.0.1:${p}`, `http://127.0.0.1`, `http://127.0.0.1:${p + 1}`, `http://127.0.0.1:${p}0`,
    `http://127.0.0.1.:${p}`, `http://localhost.:${p}`, `http://localhost`, `http://xlocalhost:${p}`,
    `http://localhost.evil.example:${p}`, `http://127.0.0.2:${p}`, `http://0.0.0.0:${p}`, `http://127.1:${p}`, `http://2130706433:${p}`,
    `http://127.0.0.1:${p}/`, `http://user@127.0.0.1:${p}`, 'file://', `ftp://localhost:${p}`,
    `http://127.0.0.1:${p}, http://evil.example`,
  ];
  for (const origin of good) {
    const raw = await Raw.connect(p);
    await raw.upgrade({ headers: { Host: `127.0.0.1:${p}`, Origin: origin } });
    await raw.destroy();
  }
  let expected;
  for (const origin of bad) {
    const { status, body } = await answer(server, { headers: { Host: `127.0.0.1:${p}`, Origin: origin } });
    assert.equal(status, 403, `Origin: ${origin}`);
    const stable = body.replace(/^date:.*$/im, '');
    expected ??= stable;
    assert.equal(stable, expected, `Origin: ${origin}: another body`);
  }
  const rebound = await answer(server, { headers: { Host: `evil.example:${p}`, Origin: `http://evil.example:${p}` } });
  assert.equal(rebound.status, 403, 'DNS rebinding: the Host header is no proof');
  const twice = await answer(server, { headers: { Origin: [`http://127.0.0.1:${p}`, 'http://evil.example'] } });
  assert.ok([400, 403].includes(twice.status), `two Origins: ${twice.status}`);
});

scenario('contract, origins: a configured list is exact and replaces the loopback forms', async (s) => {
  const server = await s.server(['--origins', 'https://chat.example,https://other.example:8443']);
  for (const [origin, status] of [
    ['https://chat.example', 101], ['https://other.example:8443', 101], [null, 101],
    ['http://chat.example', 403], ['https://chat.example.', 403], ['https://chat.example:443', 403], ['https://xchat.example', 403],
    ['https://chat.example.evil', 403], ['https://other.example', 403], ['https://CHAT.example', 403], ['null', 403],
    [`http://127.0.0.1:${server.port}`, 403], [`http://localhost:${server.port}`, 403],
  ]) {
    const got = await answer(server, { headers: { Origin: origin } });
    assert.equal(got.status, status, `Origin: ${origin}`);
  }
});

scenario('hostile, handshake: silence and one byte per second are closed at 10 s, others unaffected', { timeout: 90_000 }, async (s) => {
  const server = await s.server();
  const begun = Date.now();
  const silent = await Raw.connect(server.port);
  const partial = await Raw.connect(server.port);
  partial.write('GET /v1 HTTP/1.1\r\nHost: 127.0.0.1\r\n');
  const drip = await Raw.connect(server.port);
  const text = upgradeText();
  let i = 0;
  const timer = setInterval(() => drip.write(text[i++ % text.length]), 1000);
  const other = await Raw.connect(server.port);
  await other.upgrade();
  await other.destroy();
  for (const [name, raw] of Object.entries({ silent, partial, drip })) {
    await raw.until(() => false, 25_000, name);
    assert.ok(raw.ended, name);
    const ms = Date.now() - begun;
    assert.ok(ms <= 16_000, `${name} was closed after ${ms} ms`);
  }
  clearInterval(timer);
});

scenario('hostile, handshake: many half-open connections from one address: capped, a second address still connects', async (s) => {
  const server = await s.server(['--max-connections-per-address', '50']);
  const flood = [];
  for (let i = 0; i < 400; i++) {
    const raw = await Raw.connect(server.port).catch(() => null);
    if (raw) flood.push(raw.write('GET /v1 HTTP/1.1\r\n'));
  }
  const second = await Raw.connect(server.port, '127.0.0.1', '127.0.0.9');
  await second.upgrade();
  const open = () => flood.filter((raw) => !raw.ended);
  const deadline = Date.now() + 5_000;
  // Above the cap there is some room, so that a WebSocket too many can be told 4429.
  while (open().length > 75) {
    assert.ok(Date.now() < deadline, `${open().length} of ${flood.length} are open`);
    await Promise.race([...open().map((raw) => raw.closed), new Promise((resolve) => setTimeout(resolve, 200))]);
  }
  await Promise.all([...flood, second].map((raw) => raw.destroy()));
});
