// raw.mjs - a raw socket, a WebSocket framing of our own, and the fake-core server as a child.
//
// Nothing here sleeps to synchronise: every wait is for bytes, for an end, or for a deadline
// that fails the test.
import net from 'node:net'
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const DEADLINE_MS = Number(process.env.SB_TEST_DEADLINE_MS ?? 20000)

export class Server {
  static async start(...options) {
    const s = new Server()
    const valgrind = process.env.SB_TEST_VALGRIND
    const [command, ...args] = valgrind
      ? [...valgrind.split(' '), process.env.SB_FAKE_SERVER]
      : [process.env.SB_FAKE_SERVER]
    s.child = spawn(command, [...args, ...options], { stdio: ['ignore', 'pipe', 'pipe'] })
    s.out = ''
    s.err = ''
    s.child.stderr.on('data', (d) => (s.err += d))
    s.exit = once(s.child, 'exit')
    await new Promise((resolve, reject) => {
      s.child.stdout.on('data', (d) => {
        s.out += d
        const m = /^listening (\d+)$/m.exec(s.out)
        if (m) {
          s.port = Number(m[1])
          resolve()
        }
      })
      s.exit.then(([code]) => reject(new Error(`server exited with ${code}: ${s.err}`)))
    })
    return s
  }

  // SIGTERM, and what became of it: the exit code, the text on stderr.
  async stop(signal = 'SIGTERM') {
    this.child.kill(signal)
    const [code, by] = await within(this.exit, 'the server to exit')
    return { code, by, out: this.out, err: this.err }
  }
}

export function within(promise, what, ms = DEADLINE_MS) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited in vain for ${what}`)), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

// A socket whose input is read by need.
export class Raw {
  static async connect(port, host = '127.0.0.1', localAddress = undefined) {
    const r = new Raw()
    r.socket = net.connect({ port, host, localAddress, noDelay: true })
    r.chunks = []
    r.size = 0
    r.need = 0 // not worth looking before so many bytes are here
    r.ended = false
    r.error = null
    r.wake = () => {}
    r.socket.on('data', (d) => {
      r.chunks.push(d)
      r.size += d.length
      if (r.size >= r.need) r.wake()
    })
    r.socket.on('end', () => {
      r.ended = true
      r.wake()
    })
    r.socket.on('close', () => {
      r.ended = true
      r.wake()
    })
    r.socket.on('error', (e) => {
      r.error = e
      r.ended = true
      r.wake()
    })
    await within(once(r.socket, 'connect'), 'a connection')
    return r
  }

  // What was received and not taken.
  get buffer() {
    if (this.chunks.length !== 1) this.chunks = [Buffer.concat(this.chunks)]
    return this.chunks[0]
  }

  set buffer(rest) {
    this.chunks = [rest]
    this.size = rest.length
    this.need = 0
  }

  async until(test, what) {
    const start = Date.now()
    for (;;) {
      const got = test()
      if (got !== undefined) return got
      if (this.ended) {
        const last = test()
        if (last !== undefined) return last
        throw new Error(`the connection ended before ${what}${this.error ? `: ${this.error.code}` : ''}`)
      }
      await within(new Promise((resolve) => (this.wake = resolve)), what, Math.max(1, DEADLINE_MS - (Date.now() - start)))
    }
  }

  write(data) {
    this.socket.write(data)
    return this
  }

  // Writes and waits until the kernel has it.
  flush(data) {
    return new Promise((resolve) => this.socket.write(data, resolve))
  }

  // A whole HTTP response; bodies by Content-Length.
  async response() {
    const headEnd = await this.until(() => {
      const at = this.buffer.indexOf('\r\n\r\n')
      return at < 0 ? undefined : at
    }, 'a response head')
    const lines = this.buffer.subarray(0, headEnd).toString('latin1').split('\r\n')
    const headers = {}
    for (const line of lines.slice(1)) {
      const colon = line.indexOf(':')
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
    }
    const status = Number(lines[0].split(' ')[1])
    const length = status === 101 ? 0 : Number(headers['content-length'] ?? 0)
    await this.until(() => (this.buffer.length >= headEnd + 4 + length ? true : undefined), 'a response body')
    const body = this.buffer.subarray(headEnd + 4, headEnd + 4 + length)
    this.buffer = this.buffer.subarray(headEnd + 4 + length)
    return { status, headers, body }
  }

  // The next frame of the server: {opcode, fin, payload}.
  frame() {
    return this.until(() => {
      const b = this.buffer
      if (b.length < 2) return undefined
      if (b[1] & 0x80) throw new Error('a server frame is masked')
      let len = b[1]
      let at = 2
      if (len === 126) {
        if (b.length < 4) return undefined
        len = b.readUInt16BE(2)
        at = 4
        if (len < 126) throw new Error('a length is not minimal')
      } else if (len === 127) {
        if (b.length < 10) return undefined
        len = Number(b.readBigUInt64BE(2))
        at = 10
        if (len < 65536) throw new Error('a length is not minimal')
      }
      if (b.length < at + len) {
        this.need = at + len
        return undefined
      }
      this.buffer = b.subarray(at + len)
      return { fin: (b[0] & 0x80) !== 0, opcode: b[0] & 0x7f, payload: b.subarray(at, at + len) }
    }, 'a frame')
  }

  // The next frame that is no ping.
  async message() {
    for (;;) {
      const f = await this.frame()
      if (f.opcode === 9) this.write(clientFrame(f.payload, { opcode: 10 }))
      else return f
    }
  }

  // The close frame's code, and then the end of the connection.
  async closed({ answer = true } = {}) {
    for (;;) {
      const f = await this.message()
      if (f.opcode !== 8) continue
      if (answer && !this.ended) this.write(clientFrame(f.payload.subarray(0, 2), { opcode: 8 }))
      await this.end()
      return f.payload.readUInt16BE(0)
    }
  }

  end() {
    return this.until(() => (this.ended ? true : undefined), 'the end of the connection')
  }

  destroy() {
    this.socket.destroy()
  }
}

export function clientFrame(payload, { opcode = 2, fin = true, mask = [1, 2, 3, 4], rsv = 0 } = {}) {
  const body = Buffer.from(payload)
  const n = body.length
  let head
  if (n < 126) head = Buffer.from([0, 0x80 | n])
  else if (n < 65536) head = Buffer.from([0, 0x80 | 126, n >> 8, n & 255])
  else {
    head = Buffer.alloc(10)
    head[1] = 0x80 | 127
    head.writeBigUInt64BE(BigInt(n), 2)
  }
  head[0] = (fin ? 0x80 : 0) | rsv | opcode
  for (let i = 0; i < n; i++) body[i] ^= mask[i & 3]
  return Buffer.concat([head, Buffer.from(mask), body])
}

export function handshake(port, changes = {}, { path = '/v1', method = 'GET', version = 'HTTP/1.1', extra = [], host = '127.0.0.1' } = {}) {
  const headers = {
    Host: `${host}:${port}`,
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Protocol': 'scrollback.v1',
    ...changes,
  }
  let text = `${method} ${path} ${version}\r\n`
  for (const [name, value] of Object.entries(headers)) if (value !== null) text += `${name}: ${value}\r\n`
  for (const line of extra) text += `${line}\r\n`
  return `${text}\r\n`
}

// An upgraded connection.
export async function open(port, changes = {}, host = '127.0.0.1') {
  const r = await Raw.connect(port, host)
  r.write(handshake(port, changes))
  const answer = await r.response()
  if (answer.status !== 101) throw new Error(`upgrade answered ${answer.status}`)
  return r
}

// Past the fake core's hello.
export async function openReady(port) {
  const r = await open(port)
  r.write(clientFrame('h'))
  const f = await r.message()
  if (f.payload.toString() !== 'ok') throw new Error('no hello reply')
  return r
}

export function command(letter, number, rest = '') {
  const b = Buffer.alloc(5)
  b.write(letter)
  b.writeUInt32BE(number, 1)
  return Buffer.concat([b, Buffer.from(rest)])
}

export async function metrics(port) {
  const r = await Raw.connect(port)
  r.write(`GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n`)
  const { body } = await r.response()
  r.destroy()
  const values = {}
  for (const line of body.toString().split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const at = line.lastIndexOf(' ')
    values[line.slice(0, at)] = Number(line.slice(at + 1))
  }
  return values
}

// Asks the server until `test` holds; the metrics it held for.
export async function eventually(port, test, what) {
  const end = Date.now() + DEADLINE_MS
  for (;;) {
    const m = await metrics(port)
    if (test(m)) return m
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`)
  }
}
