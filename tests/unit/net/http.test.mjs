// http.test.mjs - the HTTP routes on the same port.
import test from 'node:test'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Raw, Server, handshake, openReady, clientFrame } from './raw.mjs'

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sb-net-'))
const web = path.join(dir, 'web')
fs.mkdirSync(path.join(web, 'sub'), { recursive: true })
fs.writeFileSync(path.join(web, 'index.html'), '<!doctype html><title>demo</title>')
fs.writeFileSync(path.join(web, 'app.mjs'), 'export {}')
fs.writeFileSync(path.join(web, 'style.css'), 'p{}')
fs.writeFileSync(path.join(web, 'sub', 'big.js'), Buffer.alloc(1500000, '/'))
fs.writeFileSync(path.join(dir, 'secret.txt'), 'secret')

let server
let bare
test.before(async () => {
  server = await Server.start(`web=${web}`, 'demo=1')
  bare = await Server.start()
})
test.after(async () => {
  for (const s of [server, bare]) {
    const end = await s.stop()
    assert.equal(end.code, 0, end.err)
    assert.match(end.out, /^clean$/m)
  }
  fs.rmSync(dir, { recursive: true })
})

async function get(s, url, { method = 'GET', headers = {}, body = '', host = '127.0.0.1', from } = {}) {
  const r = await Raw.connect(s.port, host, from)
  let text = `${method} ${url} HTTP/1.1\r\nHost: 127.0.0.1:${s.port}\r\n`
  for (const [k, v] of Object.entries(headers)) text += `${k}: ${v}\r\n`
  r.write(`${text}\r\n${body}`)
  try {
    return await r.response()
  } catch (e) {
    return { status: 0, body: Buffer.from(''), headers: {}, error: e }
  } finally {
    r.destroy()
  }
}

test('static files with their types and the security headers', async () => {
  for (const [url, type] of [['/', /^text\/html/], ['/index.html', /^text\/html/], ['/app.mjs', /^text\/javascript/], ['/style.css', /^text\/css/], ['/sub/big.js', /javascript/]]) {
    const a = await get(server, url)
    assert.equal(a.status, 200, url)
    assert.match(a.headers['content-type'], type)
    assert.match(a.headers['content-security-policy'], /default-src 'self'; connect-src 'self' ws: wss:/)
    assert.equal(a.headers['x-content-type-options'], 'nosniff')
    assert.equal(a.headers['access-control-allow-origin'], undefined)
  }
  assert.equal((await get(server, '/sub/big.js')).body.length, 1500000)
})

test('a download may take longer than a handshake', async () => {
  const quick = await Server.start(`web=${web}`, 'handshake=200')
  const r = await Raw.connect(quick.port)
  r.write('GET /sub/big.js HTTP/1.1\r\nHost: x\r\n\r\n')
  await r.until(() => (r.buffer.length > 0 ? true : undefined), 'the first bytes')
  r.socket.pause()
  for (let i = 0; i < 3; i++) await (await Raw.connect(quick.port)).end() // the deadline passed
  r.socket.resume()
  assert.equal((await r.response()).body.length, 1500000)
  r.destroy()
  assert.equal((await quick.stop()).code, 0)
})

test('a body that drips has the time of a head, wanted or not', async () => {
  const quick = await Server.start(`web=${web}`, 'demo=1', 'handshake=300')
  const wanted = `Origin: http://127.0.0.1:${quick.port}\r\nContent-Type: application/json\r\n`
  const heads = []
  for (const [method, url] of [['POST', '/demo/token'], ['POST', '/healthz'], ['GET', '/healthz'], ['GET', '/index.html'], ['PATCH', '/x']]) {
    heads.push(`${method} ${url} HTTP/1.1\r\nHost: 127.0.0.1:${quick.port}\r\n${wanted}Content-Length: 1000\r\n\r\n`)
  }
  heads.push(`POST /demo/token HTTP/1.1\r\nHost: 127.0.0.1:${quick.port}\r\n${wanted}Transfer-Encoding: chunked\r\n\r\n`)
  // On a connection that was used before, too.
  heads.push(`GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n${heads[0]}`)
  await Promise.all(heads.map(async (head) => {
    const r = await Raw.connect(quick.port)
    r.write(head)
    const drip = setInterval(() => r.write(' '), 40)
    await r.end()
    clearInterval(drip)
  }))
  // Within the time a body in pieces is as good as one in one, and the connection goes on.
  const r = await Raw.connect(quick.port)
  await r.flush(`POST /demo/token HTTP/1.1\r\nHost: 127.0.0.1:${quick.port}\r\n${wanted}Content-Length: 17\r\n\r\n{"user": `)
  r.write('"alice"}')
  assert.equal((await r.response()).status, 200)
  r.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  assert.equal((await r.response()).status, 200)
  r.destroy()
  assert.equal((await quick.stop()).code, 0)
})

test('no file outside the directory', async () => {
  for (const url of ['/../secret.txt', '/..%2fsecret.txt', '/%2e%2e/secret.txt', '/sub/../../secret.txt', '/sub/%2e%2e/%2e%2e/secret.txt', '//secret.txt', '/....//secret.txt', '/%2e%2e%5csecret.txt', `/${dir}/secret.txt`, '/index.html%00.txt']) {
    const a = await get(server, url)
    assert.notEqual(a.status, 200, url)
    assert.doesNotMatch(a.body.toString(), /secret/)
  }
})

test('a missing file is 404 with the headers', async () => {
  const a = await get(server, '/nothing.html')
  assert.equal(a.status, 404)
  assert.equal(a.headers['x-content-type-options'], 'nosniff')
})

test('without a web directory / says what this is', async () => {
  const a = await get(bare, '/')
  assert.equal(a.status, 404)
  assert.match(a.body.toString(), /Scrollback/)
  assert.match(a.headers['content-type'], /^text\/plain/)
})

test('health and readiness, HEAD too', async () => {
  assert.equal((await get(server, '/healthz')).body.toString(), 'ok\n')
  assert.equal((await get(server, '/readyz')).status, 200)
  assert.equal((await get(server, '/healthz/x')).status, 404)
  const r = await Raw.connect(server.port)
  r.write('HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  await r.until(() => (r.buffer.toString().split('HTTP/1.1 200').length === 3 && r.buffer.toString().endsWith('\r\n\r\nok\n') ? true : undefined), 'two answers')
  assert.doesNotMatch(r.buffer.toString(), /ok\nHTTP/)
  r.destroy()
})

test('other methods are refused', async () => {
  assert.equal((await get(server, '/healthz', { method: 'POST', headers: { 'Content-Length': '0' } })).status, 405)
})

test('plain HTTP on /v1 -> 426', async () => {
  const a = await get(server, '/v1')
  assert.equal(a.status, 426)
  assert.equal(a.headers.upgrade, 'websocket')
})

test('keep-alive: several requests, then an upgrade', async () => {
  const r = await Raw.connect(server.port)
  for (let i = 0; i < 3; i++) {
    r.write(`GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`)
    assert.equal((await r.response()).status, 200)
  }
  r.write(handshake(server.port, { Origin: 'null' }))
  assert.equal((await r.response()).status, 403)
  r.write(handshake(server.port))
  assert.equal((await r.response()).status, 101)
  r.write(clientFrame('eok'))
  assert.equal((await r.message()).payload.toString(), 'ok')
  r.destroy()
})

test('metrics: Prometheus text, closed labels, loopback only', async () => {
  const ws = await openReady(server.port)
  const a = await get(server, '/metrics')
  assert.equal(a.status, 200)
  const text = a.body.toString()
  assert.match(text, /^scrollback_connections 1$/m)
  assert.match(text, /^scrollback_requests_total\{op="load_older"\} 0$/m)
  assert.match(text, /^scrollback_errors_total\{code="forbidden"\} 0$/m)
  assert.match(text, /^scrollback_cursors_refused_total\{cause="binding"\} 0$/m)
  assert.match(text, /^fake_reloads 0$/m)
  for (const line of text.trim().split('\n')) assert.match(line, /^(# (HELP|TYPE) \S+ .+|[a-z_]+(\{[a-z]+="\w+"\})? \d+)$/)
  ws.destroy()
  const own = Object.values(os.networkInterfaces()).flat().find((i) => i.family === 'IPv4' && !i.internal)
  if (own === undefined) return
  const open = await Server.start('host=0.0.0.0')
  const r = await get(open, '/metrics', { host: own.address })
  assert.equal(r.status, 403)
  assert.equal((await get(open, '/healthz', { host: own.address })).status, 200)
  assert.equal((await open.stop()).code, 0)
})

test('SIGHUP reloads', async () => {
  bare.child.kill('SIGHUP')
  for (;;) if (/^fake_reloads 1$/m.test((await get(bare, '/metrics')).body.toString())) break
})

const json = { 'Content-Type': 'application/json' }
function token(s, body, changes = {}) {
  const headers = { Origin: `http://127.0.0.1:${s.port}`, ...json, 'Content-Length': String(Buffer.byteLength(body)), ...changes }
  for (const k of Object.keys(headers)) if (headers[k] === null) delete headers[k]
  return get(s, '/demo/token', { method: 'POST', headers, body })
}

test('demo token: for the named users only', async () => {
  const a = await token(server, '{"user": "alice"}')
  assert.equal(a.status, 200)
  assert.deepEqual(JSON.parse(a.body), { token: 'token-of-alice' })
  assert.match(a.headers['content-type'], /^application\/json/)
  assert.equal(a.headers['access-control-allow-origin'], undefined)
  assert.equal((await token(server, ' {\n"user" : "bob" } ')).status, 200)
  assert.equal((await token(server, '{"user":"mallory"}')).status, 403)
})

test('demo token: refusals', async () => {
  for (const body of ['', '{}', '[]', '{"user":1}', '{"user":"alice"', '{"user":"alice"}}', '{"user":"alice","x":1}', '{"user":"al\\u0069ce"}', '{"user":""}', '"alice"'])
    assert.equal((await token(server, body)).status, 400, body)
  const ok = '{"user":"alice"}'
  assert.equal((await token(server, ok, { Origin: null })).status, 403)
  assert.equal((await token(server, ok, { Origin: 'http://evil.example' })).status, 403)
  assert.equal((await token(server, ok, { Host: `evil.example:${server.port}` })).status, 403)
  assert.equal((await token(server, ok, { 'Content-Type': 'text/plain' })).status, 415)
  assert.equal((await token(server, ok, { 'Content-Type': 'application/jsonx' })).status, 415)
  assert.equal((await token(server, ok, { 'Content-Length': '1025' })).status, 413)
  assert.equal((await token(server, ok, { 'Content-Length': '99999999999999999999' })).status, 413)
  assert.equal((await get(server, '/demo/token')).status, 405)
  assert.equal((await token(bare, ok)).status, 404)
})

test('a body one byte per segment', async () => {
  const r = await Raw.connect(server.port)
  const body = '{"user":"alice"}'
  r.write(`POST /demo/token HTTP/1.1\r\nHost: localhost:${server.port}\r\nOrigin: http://localhost:${server.port}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\n\r\n`)
  for (const c of body) await r.flush(c)
  assert.equal((await r.response()).status, 200)
  r.destroy()
})
