// frames.test.mjs - frames, close codes, queues and deadlines, over a real socket.
import test from 'node:test'
import assert from 'node:assert/strict'
import { Raw, Server, clientFrame, command, eventually, handshake, metrics, open, openReady, within } from './raw.mjs'

async function withServer(options, body) {
  const server = await Server.start(...options)
  try {
    await body(server)
  } finally {
    const end = await server.stop()
    assert.equal(end.code, 0, end.err)
    assert.match(end.out, /^clean$/m)
  }
}

function expectFiller(payload, size) {
  assert.equal(payload.length, size)
  for (const at of [0, 1, 124, 125, 126, 65535, 65536, size - 1]) if (at >= 0 && at < size) assert.equal(payload[at], at % 251)
}

test('replies of every size class, each in one frame', () =>
  withServer([], async ({ port }) => {
    const r = await openReady(port)
    for (const size of [0, 1, 2, 124, 125, 126, 127, 65535, 65536, 65537, 200000, 3000000]) {
      r.write(clientFrame(command('r', size)))
      const f = await r.message()
      assert.equal(f.opcode, 2)
      assert.equal(f.fin, true)
      expectFiller(f.payload, size)
    }
    r.destroy()
  }))

test('several replies to one request keep their order', () =>
  withServer([], async ({ port }) => {
    const r = await openReady(port)
    r.write(clientFrame('m'))
    assert.equal((await r.message()).payload.toString(), 'one')
    expectFiller((await r.message()).payload, 70000)
    assert.equal((await r.message()).payload.toString(), 'two')
    r.destroy()
  }))

test('pipelined requests are all answered in order', () =>
  withServer([], async ({ port }) => {
    const r = await openReady(port)
    const frames = []
    for (let i = 0; i < 5000; i++) frames.push(clientFrame(`e${i}`))
    r.write(Buffer.concat(frames))
    for (let i = 0; i < 5000; i++) assert.equal((await r.message()).payload.toString(), String(i))
    r.destroy()
  }))

test('messages of every size up to the limit come back whole', () =>
  withServer([], async ({ port }) => {
    const r = await openReady(port)
    for (const size of [1, 125, 126, 1000, 1023, 1024, 1025, 1026, 4096, 65535]) {
      const body = Buffer.alloc(size, 'x')
      r.write(clientFrame(Buffer.concat([Buffer.from('e'), body])))
      assert.equal((await r.message()).payload.length, size)
    }
    r.destroy()
  }))

test('a fragmented message is assembled, pings between its fragments', () =>
  withServer([], async ({ port }) => {
    const r = await openReady(port)
    r.write(clientFrame('eab', { fin: false }))
    r.write(clientFrame('', { opcode: 9 }))
    r.write(clientFrame('cd', { opcode: 0, fin: false }))
    r.write(clientFrame('', { opcode: 0, fin: false }))
    r.write(clientFrame(Buffer.alloc(3000, 'z'), { opcode: 0, fin: false }))
    r.write(clientFrame('', { opcode: 0 }))
    for (;;) {
      const f = await r.message()
      if (f.opcode === 10) continue
      assert.equal(f.payload.toString(), 'abcd' + 'z'.repeat(3000))
      break
    }
    r.destroy()
  }))

test('one byte per segment works', () =>
  withServer([], async ({ port }) => {
    const r = await openReady(port)
    for (const byte of clientFrame(`e${'q'.repeat(300)}`)) await r.flush(Buffer.from([byte]))
    assert.equal((await r.message()).payload.toString(), 'q'.repeat(300))
    r.destroy()
  }))

test('64 fragments are taken, 65 are closed 1008', () =>
  withServer([], async ({ port }) => {
    const fragments = (n) => {
      const list = [clientFrame('e', { fin: false })]
      for (let i = 0; i < n - 2; i++) list.push(clientFrame('x', { opcode: 0, fin: false }))
      list.push(clientFrame('x', { opcode: 0 }))
      return Buffer.concat(list)
    }
    const r = await openReady(port)
    r.write(fragments(64))
    assert.equal((await r.message()).payload.length, 63)
    r.write(fragments(65))
    assert.equal(await r.closed(), 1008)
    const empty = await openReady(port)
    empty.write(Buffer.concat([clientFrame('e', { fin: false }), ...Array(20000).fill(clientFrame('', { opcode: 0, fin: false }))]))
    assert.equal(await empty.closed(), 1008)
  }))

const closes = [
  ['text', clientFrame('hi', { opcode: 1 }), 1003],
  ['empty text', clientFrame('', { opcode: 1 }), 1003],
  ['not what the core reads', clientFrame('?'), 1007],
  ['empty message', clientFrame(''), 1007],
  ['reserved bit', clientFrame('e', { rsv: 0x40 }), 1002],
  ['opcode 3', clientFrame('e', { opcode: 3 }), 1002],
  ['opcode 11', clientFrame('e', { opcode: 11 }), 1002],
  ['fragmented ping', clientFrame('e', { opcode: 9, fin: false }), 1002],
  ['continuation first', clientFrame('e', { opcode: 0 }), 1002],
  ['new message inside a fragment', Buffer.concat([clientFrame('e', { fin: false }), clientFrame('e')]), 1002],
  ['over the limit', clientFrame(`e${'x'.repeat(65536)}`), 1009],
  ['declared 2^63-1', Buffer.from('82ff7fffffffffffffff01020304' + '00'.repeat(1200), 'hex'), 1009],
  ['declared 2^63-1, nothing more', Buffer.from('82ff7fffffffffffffff01020304', 'hex'), 1009],
  ['fragments over the limit', Buffer.concat([clientFrame(`e${'x'.repeat(40000)}`, { fin: false }), clientFrame('x'.repeat(40000), { opcode: 0 })]), 1009],
]
for (const [name, bytes, code] of closes)
  test(`${name} -> ${code} in a close frame`, () =>
    withServer([], async ({ port }) => {
      const r = await openReady(port)
      r.write(bytes)
      assert.equal(await r.closed(), code)
    }))

test('ping over 125 bytes ends the connection', () =>
  withServer([], async ({ port }) => {
    const r = await openReady(port)
    r.write(clientFrame('x'.repeat(126), { opcode: 9 }))
    await r.end()
  }))

test('the limit before hello is smaller', () =>
  withServer([], async ({ port }) => {
    const r = await open(port)
    r.write(clientFrame(`e${'x'.repeat(16384)}`))
    assert.equal(await r.closed(), 1009)
  }))

test('a close comes behind the replies, and frames after it are ignored', () =>
  withServer([], async ({ port }) => {
    const r = await openReady(port)
    const close = Buffer.from([0x63, 0x11, 0x31]) // 'c', 4401
    r.write(Buffer.concat([clientFrame('eone'), clientFrame(command('r', 200000)), clientFrame(close), clientFrame('eignored')]))
    assert.equal((await r.message()).payload.toString(), 'one')
    expectFiller((await r.message()).payload, 200000)
    assert.equal((await r.message()).payload.toString(), 'bye')
    assert.equal(await r.closed(), 4401)
  }))

test("the client's close is echoed behind the replies", () =>
  withServer([], async ({ port }) => {
    const r = await openReady(port)
    r.write(Buffer.concat([clientFrame('elast'), clientFrame([0x03, 0xe8], { opcode: 8 })]))
    assert.equal((await r.message()).payload.toString(), 'last')
    const f = await r.message()
    assert.equal(f.opcode, 8)
    assert.equal(f.payload.readUInt16BE(0), 1000)
    await r.end()
  }))

test('a peer that does not answer the close is let go of', () =>
  withServer(['close=300'], async ({ port }) => {
    const r = await openReady(port)
    r.write(clientFrame(Buffer.from([0x63, 0x11, 0x31])))
    assert.equal((await r.message()).payload.toString(), 'bye')
    assert.equal(await r.closed({ answer: false }), 4401)
  }))

test('no hello -> 4401', () =>
  withServer(['hello=200'], async ({ port }) => {
    const r = await open(port)
    assert.equal(await r.closed(), 4401)
  }))

test('heartbeat: an answering client stays, a silent one is closed 4408', () =>
  withServer(['heartbeat=200'], async ({ port }) => {
    const good = await openReady(port)
    const silent = await openReady(port)
    let pings = 0
    const answering = (async () => {
      while (pings < 8) {
        const f = await good.frame()
        assert.equal(f.opcode, 9)
        pings++
        good.write(clientFrame(f.payload, { opcode: 10 }))
      }
    })()
    for (;;) {
      const f = await silent.frame()
      if (f.opcode === 9) continue
      assert.equal(f.opcode, 8)
      assert.equal(f.payload.readUInt16BE(0), 4408)
      break
    }
    await answering
    good.write(clientFrame('estill here'))
    assert.equal((await good.message()).payload.toString(), 'still here')
    good.destroy()
    silent.destroy()
  }))

const halves = [
  ['a payload byte', Buffer.from('828a0102030440', 'hex')],
  ['a header', Buffer.from('828a01020304', 'hex')],
  ['a first fragment', clientFrame('e', { fin: false })],
  ['an empty first fragment', clientFrame('', { fin: false })],
  ['2000 of 3000 bytes', clientFrame('e'.repeat(3000)).subarray(0, 2008)],
]
for (const [name, bytes] of halves)
  test(`half a message, then silence: ${name} -> closed`, () =>
    withServer(['half-frame=300'], async ({ port }) => {
      const r = await openReady(port)
      r.write(bytes)
      assert.equal(await r.closed({ answer: false }), 4408)
    }))

test('a busy client is never taken for half a message', () =>
  withServer(['half-frame=200'], async ({ port }) => {
    const r = await openReady(port)
    const frame = clientFrame(`e${'k'.repeat(40)}`)
    const start = Date.now()
    // Always in the middle of a frame, for three times the limit.
    r.write(frame.subarray(0, 20))
    while (Date.now() - start < 600) {
      r.write(Buffer.concat([frame.subarray(20), frame.subarray(0, 20)]))
      assert.equal((await r.message()).payload.length, 40)
    }
    r.destroy()
  }))

test('writes are answered when they are decided, refused ones at once', () =>
  withServer(['waiting=3', 'commit=30'], async ({ port }) => {
    const r = await openReady(port)
    r.write(Buffer.concat(Array(5).fill(clientFrame('w'))))
    const got = []
    for (let i = 0; i < 5; i++) got.push((await r.message()).payload)
    assert.deepEqual(got.map((p) => String.fromCharCode(p[0]) + p[4]), ['X3', 'X4', 'W0', 'W1', 'W2'])
    r.destroy()
  }))

test('an outcome never reaches the connection that took the place of its own', () =>
  withServer(['commit=150'], async ({ port }) => {
    for (let i = 0; i < 5; i++) {
      const gone = await openReady(port)
      await gone.flush(clientFrame('w'))
      gone.write(clientFrame('esent'))
      assert.equal((await gone.message()).payload.toString(), 'sent')
      gone.destroy()
      const next = await openReady(port)
      next.write(clientFrame('w'))
      assert.deepEqual([...(await next.message()).payload], [87, 0, 0, 0, 0])
      next.destroy()
    }
  }))

test('scans go on turn by turn while others are served', () =>
  withServer([], async ({ port }) => {
    const a = await openReady(port)
    const b = await openReady(port)
    a.write(clientFrame(command('s', 3000000)))
    for (let i = 0; i < 50; i++) {
      b.write(clientFrame(`e${i}`))
      assert.equal((await b.message()).payload.toString(), String(i))
    }
    assert.equal((await metrics(port)).scrollback_scans_waiting, 1)
    assert.equal((await a.message()).payload.toString(), 'S')
    assert.equal((await metrics(port)).scrollback_scans_waiting, 0)
    a.write(clientFrame(command('s', 4000000000)))
    a.write(clientFrame('eon'))
    assert.equal((await a.message()).payload.toString(), 'on')
    a.destroy()
  }))

test('a slow reader: requests wait while much is queued, and none is lost', () =>
  withServer(['out-queue=200000', 'slow-reader=60000'], async ({ port }) => {
    const r = await openReady(port)
    r.socket.pause()
    const n = 600
    const frames = []
    for (let i = 0; i < n; i++) frames.push(clientFrame(command('r', 20000 + i)))
    await r.flush(Buffer.concat(frames))
    // The server stops reading: it has not handled all requests although they are sent.
    let before = -1
    let handled = 0
    while (handled !== before || handled < 5) {
      before = handled
      handled = (await metrics(port)).scrollback_frames_received_total
    }
    assert.ok(handled < n, `handled ${handled}`)
    r.socket.resume()
    for (let i = 0; i < n; i++) assert.equal((await r.message()).payload.length, 20000 + i)
    r.destroy()
  }))

test('a reader that never reads: 4413 behind whole frames', () =>
  withServer(['out-queue=100000', 'slow-reader=300'], async ({ port }) => {
    const r = await openReady(port)
    r.socket.pause()
    r.write(clientFrame(command('r', 4000000)))
    r.write(clientFrame(command('r', 4000000)))
    await eventually(port, (m) => m['scrollback_closes_total{code="4413"}'] === 1, 'the close')
    r.socket.resume()
    expectFiller((await r.message()).payload, 4000000)
    assert.equal(await r.closed(), 4413)
  }))

test('a reader that never reads on is reset', () =>
  withServer(['out-queue=100000', 'slow-reader=200', 'close=300'], async ({ port }) => {
    const r = await openReady(port)
    r.socket.pause()
    for (let i = 0; i < 4; i++) r.write(clientFrame(command('r', 4000000)))
    const m = await eventually(port, (now) => now.scrollback_connections === 0, 'the reset')
    assert.equal(m.scrollback_resets_total, 1)
    r.destroy()
  }))

test('a peer that takes nothing of a page and answers no ping is reset', () =>
  withServer(['heartbeat=200', 'close=300'], async ({ port }) => {
    const dead = await openReady(port)
    dead.socket.pause()
    dead.write(clientFrame(command('r', 4000000)))
    dead.write(clientFrame(command('r', 4000000)))
    const m = await eventually(port, (now) => now.scrollback_connections === 0, 'the reset')
    assert.equal(m['scrollback_closes_total{code="4408"}'], 1)
    assert.equal(m.scrollback_resets_total, 1)
    dead.destroy()
  }))

test('pongs of the library never fall into a large frame', () =>
  withServer([], async ({ port }) => {
    const r = await openReady(port)
    r.socket.pause()
    r.write(clientFrame(command('r', 3000000)))
    for (let i = 0; i < 50; i++) {
      await r.flush(clientFrame(`p${i}`, { opcode: 9 }))
      await r.flush(clientFrame(command('r', 100000)))
    }
    r.socket.resume()
    expectFiller((await r.message()).payload, 3000000)
    let replies = 0
    while (replies < 50) {
      const f = await r.frame()
      if (f.opcode === 10) {
        assert.match(f.payload.toString(), /^p\d+$/)
        continue
      }
      assert.equal(f.opcode, 2)
      expectFiller(f.payload, 100000)
      replies++
    }
    r.destroy()
  }))

test('a reset in the middle of a write harms nobody', () =>
  withServer([], async ({ port }) => {
    const other = await openReady(port)
    for (let i = 0; i < 20; i++) {
      const r = await openReady(port)
      await r.flush(clientFrame(command('r', 4000000)))
      r.socket.resetAndDestroy()
    }
    other.write(clientFrame('efine'))
    assert.equal((await other.message()).payload.toString(), 'fine')
    other.destroy()
  }))

test('10,000 pings: others are served', () =>
  withServer([], async ({ port }) => {
    const noisy = await openReady(port)
    const other = await openReady(port)
    await noisy.flush(Buffer.concat(Array(10000).fill(clientFrame('x'.repeat(100), { opcode: 9 }))))
    other.write(clientFrame('efine'))
    assert.equal((await other.message()).payload.toString(), 'fine')
    noisy.write(clientFrame('edone'))
    for (;;) {
      const f = await noisy.frame()
      if (f.opcode !== 2) continue
      assert.equal(f.payload.toString(), 'done')
      break
    }
    noisy.destroy()
    other.destroy()
  }))

test('caps: one WebSocket too many is told 4429, sockets over the cap are closed', () =>
  withServer(['per-address=2'], async ({ port }) => {
    const a = await openReady(port)
    const b = await openReady(port)
    const c = await open(port)
    assert.equal(await c.closed(), 4429)
    const d = []
    for (let i = 0; i < 20; i++) d.push(await Raw.connect(port))
    let refused = 0
    for (const r of d.slice(10)) {
      await r.end()
      refused++
    }
    assert.equal(refused, 10)
    for (const r of [a, b]) {
      r.write(clientFrame('efine'))
      assert.equal((await r.message()).payload.toString(), 'fine')
    }
    for (const r of [a, b, ...d]) r.destroy()
    // The places come free.
    const again = await within((async () => {
      for (;;) {
        try {
          const r = await openReady(port)
          return r
        } catch {
          // still counted
        }
      }
    })(), 'a free place')
    again.destroy()
  }))

test('another address connects while one is at its cap', () =>
  withServer(['host=0.0.0.0', 'per-address=1'], async ({ port }) => {
    const half = []
    for (let i = 0; i < 9; i++) half.push(await Raw.connect(port))
    const one = await Raw.connect(port)
    await one.end()
    const r = await Raw.connect(port, '127.0.0.1', '127.0.0.2')
    r.write(handshake(port))
    assert.equal((await r.response()).status, 101)
    for (const h of [...half, r]) h.destroy()
  }))
