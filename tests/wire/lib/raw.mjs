// Raw sockets: handshakes and frames with any defect, byte by byte.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import net from 'node:net';
import { SUBPROTOCOL } from './client.mjs';

export const GOOD_HEADERS = {
  Host: '127.0.0.1',
  Upgrade: 'websocket',
  Connection: 'Upgrade',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Protocol': SUBPROTOCOL,
};

// The text of an upgrade request. `headers` replace the good ones (null: absent; an
// array: several lines).
export function upgradeText({ method = 'GET', path = '/v1', headers = {}, version = 'HTTP/1.1', eol = '\r\n' } = {}) {
  const all = { ...GOOD_HEADERS, ...headers };
  const lines = [`${method} ${path} ${version}`];
  for (const [name, value] of Object.entries(all)) {
    if (value === null) continue;
    for (const one of [].concat(value)) lines.push(`${name}: ${one}`);
  }
  return lines.join(eol) + eol + eol;
}

export class Raw {
  static connect(port, host = '127.0.0.1', localAddress = undefined) {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ port, host, localAddress });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new Raw(socket)));
    });
  }

  constructor(socket) {
    this.socket = socket;
    this.data = Buffer.alloc(0);
    this.ended = false;
    this.waiters = [];
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      this.data = Buffer.concat([this.data, chunk]);
      this.wake();
    });
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.ended = true;
        this.wake();
        resolve();
      });
    });
    socket.on('end', () => socket.end());
  }

  wake() {
    for (const one of this.waiters.splice(0)) one();
  }

  write(bytes) {
    if (!this.socket.destroyed) this.socket.write(bytes);
    return this;
  }

  // Waits until test(data) is true or the peer closed.
  async until(test, ms, what) {
    const deadline = Date.now() + ms;
    while (!test(this.data) && !this.ended) {
      const left = deadline - Date.now();
      assert.ok(left > 0, `${what}: nothing within ${ms} ms; got ${this.data.subarray(0, 200).toString('latin1')}`);
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, left);
        this.waiters.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  // The HTTP status of the answer; 0 when closed without one.
  async status(ms = 15_000) {
    await this.until((data) => data.includes('\r\n\r\n'), ms, 'HTTP answer');
    const match = /^HTTP\/1\.[01] (\d{3})/.exec(this.data.toString('latin1'));
    return match ? Number(match[1]) : 0;
  }

  headerText() {
    const end = this.data.indexOf('\r\n\r\n');
    return this.data.subarray(0, end < 0 ? undefined : end).toString('latin1');
  }

  // Waits for as many bytes behind the head as Content-Length tells.
  async wholeBody(ms = 15_000) {
    const length = Number(/^content-length: (\d+)$/im.exec(this.headerText())?.[1] ?? 0);
    await this.until((data) => data.length >= data.indexOf('\r\n\r\n') + 4 + length, ms, 'body');
  }

  // Upgrades; what came behind the answer's head stays in `data`.
  async upgrade(options) {
    this.write(upgradeText(options));
    const status = await this.status();
    assert.equal(status, 101, this.headerText());
    const end = this.data.indexOf('\r\n\r\n') + 4;
    const accept = crypto
      .createHash('sha1')
      .update(`${GOOD_HEADERS['Sec-WebSocket-Key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    assert.ok(this.headerText().includes(accept), 'Sec-WebSocket-Accept');
    this.data = this.data.subarray(end);
    return this;
  }

  // The next frame of the server: {opcode, payload}, or null when it closed.
  async frame(ms = 15_000) {
    await this.until((data) => parseFrame(data) !== null, ms, 'frame');
    const frame = parseFrame(this.data);
    if (frame === null) return null;
    this.data = this.data.subarray(frame.size);
    return frame;
  }

  // The close code: of the close frame, 1006 when the connection just ended.
  async closeCode(ms = 15_000) {
    for (;;) {
      const frame = await this.frame(ms);
      if (frame === null) return 1006;
      if (frame.opcode === 8) return frame.payload.length >= 2 ? frame.payload.readUInt16BE(0) : 1005;
    }
  }

  destroy() {
    this.socket.destroy();
    return this.closed;
  }
}

function parseFrame(data) {
  if (data.length < 2) return null;
  let length = data[1] & 0x7f;
  let head = 2;
  if (length === 126) {
    if (data.length < 4) return null;
    length = data.readUInt16BE(2);
    head = 4;
  } else if (length === 127) {
    if (data.length < 10) return null;
    length = Number(data.readBigUInt64BE(2));
    head = 10;
  }
  if (data.length < head + length) return null;
  return { opcode: data[0] & 0x0f, fin: (data[0] & 0x80) !== 0, payload: data.subarray(head, head + length), size: head + length };
}

// A client frame, masked. first: the whole first byte, else fin and opcode.
export function frame(payload, { opcode = 2, fin = true, first, mask = true } = {}) {
  const body = Buffer.from(payload);
  const head = [first ?? ((fin ? 0x80 : 0) | opcode)];
  const bit = mask ? 0x80 : 0;
  if (body.length < 126) head.push(bit | body.length);
  else if (body.length < 65_536) head.push(bit | 126, body.length >> 8, body.length & 255);
  else {
    const size = Buffer.alloc(8);
    size.writeBigUInt64BE(BigInt(body.length));
    head.push(bit | 127, ...size);
  }
  if (!mask) return Buffer.concat([Buffer.from(head), body]);
  const key = crypto.randomBytes(4);
  for (let i = 0; i < body.length; i++) body[i] ^= key[i & 3];
  return Buffer.concat([Buffer.from(head), key, body]);
}
