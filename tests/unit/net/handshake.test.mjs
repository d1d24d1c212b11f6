// handshake.test.mjs - which requests become WebSockets, over a real socket.
import test from 'node:test'
import assert from 'node:assert/strict'
import { Raw, Server, handshake, open, clientFrame, metrics } from './raw.mjs'

let server
test.before(async () => (server = await Server.start()))
test.after(async () => {
  const end = await server.stop()
  assert.equal(end.code, 0, end.err)
  assert.match(end.out, /^clean$/m)
})

async function status(request) {
  const r = await Raw.connect(server.port)
  r.write(request)
  try {
    return await r.response()
  } catch (e) {
    return { status: 0, error: e }
  } finally {
    r.destroy()
  }
}

test('a correct upgrade names the subprotocol', async () => {
  const a = await status(handshake(server.port))
  assert.equal(a.status, 101)
  assert.equal(a.headers['sec-websocket-protocol'], 'scrollback.v1')
  assert.equal(a.headers['sec-websocket-accept'], 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
})

const key = 'Sec-WebSocket-Key'
const versionName = 'Sec-WebSocket-Version'
const protocolName = 'Sec-WebSocket-Protocol'
const table = [
  ['version 12', { [versionName]: '12' }, {}, 426],
  ['version absent', { [versionName]: null }, {}, 426],
  ['version list', { [versionName]: '13, 8' }, {}, 426],
  ['POST', {}, { method: 'POST' }, 400],
  ['POST with a body length', { 'Content-Length': '5' }, { method: 'POST' }, 400],
  ['Content-Length', { 'Content-Length': '0' }, {}, 400],
  ['negative Content-Length', { 'Content-Length': '-1' }, {}, 400],
  ['empty Content-Length', { 'Content-Length': '' }, {}, 400],
  ['Transfer-Encoding', { 'Transfer-Encoding': 'chunked' }, {}, 400],
  ['key absent', { [key]: null }, {}, 400],
  ['key twice', {}, { extra: [`${key}: dGhlIHNhbXBsZSBub25jZQ==`] }, 400],
  ['key of 3 bytes', { [key]: 'AAAA' }, {}, 400],
  ['key of 25 characters', { [key]: 'dGhlIHNhbXBsZSBub25jZQ===' }, {}, 400],
  ['key not base64', { [key]: 'dGhlIHNhbXBsZSBub25j!Q==' }, {}, 400],
  ['key with spare bits', { [key]: 'dGhlIHNhbXBsZSBub25jZR==' }, {}, 400],
  ['Connection without upgrade', { Connection: 'keep-alive' }, {}, 400],
  ['Connection: u', { Connection: 'u' }, {}, 400],
  ['HTTP/1.0', {}, { version: 'HTTP/1.0' }, 400],
  ['no Host', { Host: null }, {}, 400],
  ['no subprotocol', { [protocolName]: null }, {}, 400],
  ['another subprotocol', { [protocolName]: 'scrollback.v2' }, {}, 400],
  ['subprotocol prefix', { [protocolName]: 'scrollback.v' }, {}, 400],
  ['wrong path', {}, { path: '/v2' }, 404],
  ['root path', {}, { path: '/' }, 404],
  ['path with a tail', {}, { path: '/v1/' }, 404],
  ['path with NUL', {}, { path: '/v1%00' }, 404],
  ['path with NUL and tail', {}, { path: '/v1%00x' }, 404],
  ['two slashes', {}, { path: '//v1' }, 404],
  ['dot segment', {}, { path: '/./v1' }, 404],
  ['dot segments', {}, { path: '/x/../v1' }, 404],
  ['escaped dot segments', {}, { path: '/x/%2E%2e/v1' }, 404],
  ['absolute form', {}, { path: 'http://127.0.0.1/v1' }, 404],
  ['path with a query', {}, { path: '/v1?token=x' }, 404],
  ['Origin null', { Origin: 'null' }, {}, 403],
  ['Origin empty', { Origin: '' }, {}, 403],
  ['Origin of another port', { Origin: 'http://127.0.0.1:1' }, {}, 403],
  ['Origin without port', { Origin: 'http://127.0.0.1' }, {}, 403],
]
for (const [name, changes, rest, want] of table)
  test(`${name} -> ${want}`, async () => {
    assert.equal((await status(handshake(server.port, changes, rest))).status, want)
  })

test('Origin: suffix, prefix, trailing dot, repeated -> 403 with the same body', async () => {
  const p = server.port
  const bad = ['null', `http://127.0.0.1:${p}.evil.example`, `http://evil-127.0.0.1:${p}`, `http://localhost.:${p}`,
    `http://127.0.0.1:${p}0`, `http://127.0.0.1:${p}/`, `ftp://127.0.0.1:${p}`, `http://LOCALHOST:${p}`, `http://evil.example:${p}`]
  const bodies = new Set()
  for (const origin of bad) {
    const a = await status(handshake(p, { Origin: origin }))
    assert.equal(a.status, 403, origin)
    bodies.add(a.body.toString())
  }
  const twice = await status(handshake(p, { Origin: `http://127.0.0.1:${p}` }, { extra: [`Origin: http://127.0.0.1:${p}`] }))
  assert.equal(twice.status, 403)
  bodies.add(twice.body.toString())
  assert.equal(bodies.size, 1)
})

test('Origin: loopback forms with the port are accepted', async () => {
  for (const host of ['127.0.0.1', 'localhost', '[::1]'])
    for (const scheme of ['http', 'https'])
      assert.equal((await status(handshake(server.port, { Origin: `${scheme}://${host}:${server.port}` }))).status, 101, host)
})

test('Origin: with an allowlist only its entries are accepted', async () => {
  const listed = await Server.start('origin=https://chat.example')
  for (const [origin, want] of [['https://chat.example', 101], [`http://127.0.0.1:${listed.port}`, 403], ['https://chat.example.evil', 403]]) {
    const r = await Raw.connect(listed.port)
    r.write(handshake(listed.port, { Origin: origin }))
    assert.equal((await r.response()).status, want, origin)
    r.destroy()
  }
  assert.equal((await listed.stop()).code, 0)
})

test('a subprotocol list that has ours is accepted', async () => {
  const a = await status(handshake(server.port, { [protocolName]: 'chat, scrollback.v1' }))
  assert.equal(a.status, 101)
  assert.equal(a.headers['sec-websocket-protocol'], 'scrollback.v1')
})

test('426 names the version', async () => {
  const a = await status(handshake(server.port, { [versionName]: '8' }))
  assert.equal(a.headers['sec-websocket-version'], '13')
})

// What must not be a WebSocket and need not be an answer.
const never = [
  ['Upgrade: h2c', handshake(1, { Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABkAAQAAP__' })],
  ['Upgrade: websocket2', handshake(1, { Upgrade: 'websocket2' })],
  ['HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['TLS hello', Buffer.from('16030100c8010000c40303' + '00'.repeat(190), 'hex')],
  ['a header over the limit', handshake(1, { 'X-Long': 'a'.repeat(9000) })],
  ['subprotocols over the limit', handshake(1, { [protocolName]: `scrollback.v1, ${'a'.repeat(200)}` })],
]
for (const [name, request] of never)
  test(`${name}: no 101, and the connection ends`, async () => {
    const r = await Raw.connect(server.port)
    r.write(request)
    await r.until(() => (r.ended || r.buffer.length > 0 ? true : undefined), 'an answer or the end')
    assert.doesNotMatch(r.buffer.toString('latin1'), /^HTTP\/1\.1 101/)
    r.destroy()
  })

test('the first frame in the same segment as the upgrade is answered', async () => {
  const r = await Raw.connect(server.port)
  r.write(Buffer.concat([Buffer.from(handshake(server.port)), clientFrame('ehello')]))
  assert.equal((await r.response()).status, 101)
  assert.equal((await r.message()).payload.toString(), 'hello')
  r.destroy()
})

test('the handshake one byte per segment works', async () => {
  const r = await Raw.connect(server.port)
  for (const byte of Buffer.from(handshake(server.port))) await r.flush(Buffer.from([byte]))
  assert.equal((await r.response()).status, 101)
  r.destroy()
})

for (const [name, request] of [
  ['silence', ''],
  ['half a request line', 'GET /v'],
  ['half the headers', handshake(1).slice(0, 60)],
])
  test(`${name} is closed at the deadline, others unaffected`, async () => {
    const quick = await Server.start('handshake=300')
    const good = await open(quick.port)
    const r = await Raw.connect(quick.port)
    r.write(request)
    await r.end()
    good.write(clientFrame('estill'))
    assert.equal((await good.message()).payload.toString(), 'still')
    good.destroy()
    assert.equal((await quick.stop()).code, 0)
  })

test('drips are closed at the deadline', async () => {
  const quick = await Server.start('handshake=400')
  const r = await Raw.connect(quick.port)
  const drip = setInterval(() => !r.ended && r.write('G'), 20)
  r.write('GET /v1 HTTP/1.1\r\nX: ')
  await r.end()
  clearInterval(drip)
  r.destroy()
  assert.equal((await quick.stop()).code, 0)
})

test('a request whose sender closed its side is answered', async () => {
  const r = await Raw.connect(server.port)
  r.socket.end(`GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`)
  assert.equal((await r.response()).status, 200)
  r.destroy()
})

test('refusals are counted by cause', async () => {
  const m = await metrics(server.port)
  for (const cause of ['path', 'method', 'headers', 'body', 'version', 'key', 'subprotocol', 'origin'])
    assert.ok(m[`scrollback_upgrades_refused_total{cause="${cause}"}`] > 0, cause)
})

test('IPv6 and localhost', async () => {
  for (const host of ['::1', '[::1]', 'localhost']) {
    const other = await Server.start(`host=${host}`)
    const r = await open(other.port, { Origin: `http://[::1]:${other.port}` }, host === 'localhost' ? '127.0.0.1' : '::1')
    r.destroy()
    assert.equal((await other.stop()).code, 0)
  }
})
