// stop.test.mjs - the staged stop, and running out of descriptors.
import test from 'node:test'
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Raw, Server, clientFrame, command, eventually, open, openReady, within } from './raw.mjs'

test('SIGTERM: submitted changes are answered, then 1001, then a clean end', async () => {
  const server = await Server.start('commit=200')
  const list = []
  for (let i = 0; i < 10; i++) list.push(await openReady(server.port))
  for (const r of list) r.write(Buffer.concat([clientFrame('w'), clientFrame('etaken')]))
  for (const r of list) assert.equal((await r.message()).payload.toString(), 'taken')
  server.child.kill('SIGTERM')
  for (const r of list) {
    assert.equal((await r.message()).payload[0], 87) // W
    assert.equal(await r.closed(), 1001)
  }
  const [code] = await within(server.exit, 'the end')
  assert.equal(code, 0, server.err)
  assert.match(server.out, /^clean$/m)
})

test('SIGINT: queued replies go out before the close', async () => {
  const server = await Server.start()
  const r = await openReady(server.port)
  r.socket.pause()
  r.write(clientFrame(command('r', 4000000)))
  await eventually(server.port, (m) => m.scrollback_frames_received_total === 2, 'the request')
  server.child.kill('SIGINT')
  r.socket.resume()
  assert.equal((await r.message()).payload.length, 4000000)
  assert.equal(await r.closed(), 1001)
  assert.equal((await within(server.exit, 'the end'))[0], 0)
})

test('a peer that does not read cannot hold the stop up', async () => {
  const server = await Server.start('drain=300')
  const r = await openReady(server.port)
  const idle = await open(server.port)
  const half = await Raw.connect(server.port)
  r.socket.pause()
  r.write(clientFrame(command('r', 4000000)))
  await eventually(server.port, (m) => m.scrollback_frames_received_total === 2, 'the request')
  const end = await server.stop()
  assert.equal(end.code, 0, end.err)
  assert.match(end.out, /^clean$/m)
  for (const x of [r, idle, half]) x.destroy()
})

test('while stopping nothing new is taken', async () => {
  const server = await Server.start('commit=400')
  const half = await Raw.connect(server.port)
  const r = await openReady(server.port)
  r.write(clientFrame('w'))
  r.write(clientFrame('ein'))
  assert.equal((await r.message()).payload.toString(), 'in')
  server.child.kill('SIGTERM')
  // Connections are refused from now on; the probe ends with the first refusal.
  await within((async () => {
    for (;;) {
      try {
        const probe = await Raw.connect(server.port)
        probe.destroy()
      } catch {
        return
      }
    }
  })(), 'a refused connection')
  r.write(clientFrame('etoo late'))
  half.write('GET /v1 HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: scrollback.v1\r\n\r\n')
  assert.equal((await half.response()).status, 503)
  assert.equal((await r.message()).payload[0], 87)
  assert.equal(await r.closed(), 1001)
  assert.equal((await within(server.exit, 'the end'))[0], 0)
  half.destroy()
})

test('a second signal exits at once', async () => {
  const server = await Server.start('commit=60000')
  const r = await openReady(server.port)
  r.write(Buffer.concat([clientFrame('w'), clientFrame('ein')]))
  assert.equal((await r.message()).payload.toString(), 'in')
  server.child.kill('SIGTERM')
  await within((async () => {
    while (!/stopping/.test(server.err)) await new Promise((resolve) => server.child.stderr.once('data', resolve))
  })(), 'the stop to begin')
  server.child.kill('SIGTERM')
  assert.equal((await within(server.exit, 'the end'))[0], 1)
  r.destroy()
})

test('an address that is not ours is told', async () => {
  const bad = spawnSync(process.env.SB_FAKE_SERVER, ['host=203.0.113.1'], { encoding: 'utf8', timeout: 20000 })
  assert.equal(bad.status, 1)
  assert.match(bad.stderr, /cannot listen on 203\.0\.113\.1/)
})

test('out of descriptors: no spin, and connections are taken again when some are free', async () => {
  const server = await Server.start('files=40')
  const taken = []
  for (let i = 0; i < 60; i++) taken.push(await Raw.connect(server.port))
  await within((async () => {
    while (!/cannot accept/.test(server.err)) await new Promise((resolve) => server.child.stderr.once('data', resolve))
  })(), 'the warning')
  const ticks = () => {
    const f = readFileSync(`/proc/${server.child.pid}/stat`, 'utf8').split(') ')[1].split(' ')
    return Number(f[11]) + Number(f[12])
  }
  const before = ticks()
  const start = process.hrtime.bigint()
  // A second of the server's own retries, told by its log.
  const warned = server.err.length
  await within((async () => {
    while (server.err.length < warned + 400) await new Promise((resolve) => server.child.stderr.once('data', resolve))
  })(), 'more warnings')
  const seconds = Number(process.hrtime.bigint() - start) / 1e9
  assert.ok((ticks() - before) / 100 < seconds / 4, 'the server spins')
  for (const r of taken) r.destroy()
  const again = await openReady(server.port)
  again.destroy()
  assert.equal((await server.stop()).code, 0)
})
