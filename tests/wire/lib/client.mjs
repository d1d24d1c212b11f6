// A client of the wire made of `ws` and `@msgpack/msgpack` only.
//
// It shares no code with the project: what it decodes is what the bytes say. Replies
// are paired by `re`; each keeps its raw bytes, so that refusals can be compared byte
// for byte.

import assert from 'node:assert/strict';
import WebSocket from 'ws';
import { decode, encode } from '@msgpack/msgpack';

export const SUBPROTOCOL = 'scrollback.v1';
const REPLY_MS = 30_000;

function decodeReply(bytes) {
  const value = decode(bytes);
  assert.ok(value !== null && typeof value === 'object' && !Array.isArray(value), 'a frame is one map');
  return value;
}

export class Closed extends Error {
  constructor(code, reason) {
    super(`the connection was closed: ${code} ${reason}`);
    this.code = code;
  }
}

export class Client {
  // Resolves when the upgrade is done; rejects with an error whose `status` is the HTTP one.
  static connect(url, { protocol = SUBPROTOCOL, ...options } = {}) {
    return new Promise((resolve, reject) => {
      const protocols = protocol === null ? [] : [].concat(protocol);
      const ws = new WebSocket(url, protocols, {
        perMessageDeflate: false,
        handshakeTimeout: REPLY_MS,
        ...options,
      });
      ws.binaryType = 'nodebuffer';
      ws.once('unexpected-response', (request, response) => {
        const error = new Error(`HTTP ${response.statusCode}`);
        error.status = response.statusCode;
        error.body = '';
        response.on('data', (chunk) => (error.body += chunk));
        response.on('end', () => reject(error));
        response.on('error', () => reject(error));
      });
      ws.once('error', reject);
      ws.once('open', () => resolve(new Client(ws)));
    });
  }

  constructor(ws) {
    this.ws = ws;
    this.nextId = 1;
    this.waiting = new Map(); // id → [{resolve, reject}], oldest first
    this.events = [];
    this.strays = []; // replies that nobody waits for
    this.closed = new Promise((resolve) => {
      ws.on('close', (code, reason) => {
        this.closeCode = code;
        resolve({ code, reason: reason.toString() });
        const error = new Closed(code, reason);
        for (const list of this.waiting.values()) for (const one of list) one.reject(error);
        this.waiting.clear();
      });
    });
    ws.on('error', () => {});
    ws.on('message', (data, isBinary) => this.receive(data, isBinary));
  }

  receive(data, isBinary) {
    if (!isBinary) {
      this.strays.push({ text: data.toString() });
      return;
    }
    const reply = decodeReply(data);
    Object.defineProperty(reply, 'raw', { value: data, enumerable: false });
    if ('ev' in reply) {
      this.events.push(reply);
      return;
    }
    const list = this.waiting.get(reply.re);
    if (list === undefined) {
      this.strays.push(reply);
      return;
    }
    const one = list.shift();
    if (list.length === 0) this.waiting.delete(reply.re);
    one.resolve(reply);
  }

  // A promise of the next reply whose `re` is id.
  reply(id) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no reply to request ${id}`)), REPLY_MS);
      const done = (settle) => (value) => {
        clearTimeout(timer);
        settle(value);
      };
      const list = this.waiting.get(id) ?? [];
      list.push({ resolve: done(resolve), reject: done(reject) });
      this.waiting.set(id, list);
    });
  }

  // Sends {op, id, ...fields}; gives the reply, an error reply too.
  async request(op, fields = {}, { id = this.nextId++ } = {}) {
    this.mustBeOpen();
    const promise = this.reply(id);
    // With useBigInt64 the encoder writes other numbers past 32 bits as floats.
    const useBigInt64 = Object.values(fields).some((value) => typeof value === 'bigint');
    this.sendRaw(encode({ op, id, ...fields }, { ignoreUndefined: true, useBigInt64 }));
    return promise;
  }

  // A request whose bytes the caller made; `id` is what it holds.
  async requestRaw(bytes, id) {
    this.mustBeOpen();
    const promise = this.reply(id);
    this.sendRaw(bytes);
    return promise;
  }

  mustBeOpen() {
    if (this.ws.readyState !== WebSocket.OPEN) throw new Closed(this.closeCode, 'not open');
  }

  sendRaw(bytes) {
    this.mustBeOpen();
    this.ws.send(bytes, { binary: true });
  }

  async ok(op, fields, options) {
    const reply = await this.request(op, fields, options);
    assert.equal(reply.error, undefined, `${op}: ${JSON.stringify(reply.error)}`);
    return reply;
  }

  // A request that must be refused with this code; gives the whole reply.
  async refused(code, op, fields, options) {
    const reply = await this.request(op, fields, options);
    assert.ok(reply.error, `${op} was not refused: ${summary(reply)}`);
    assert.equal(reply.error.code, code, `${op}: ${JSON.stringify(reply.error)}`);
    assert.deepEqual(
      Object.keys(reply.error).filter((key) => key !== 'retry_ms'),
      ['code', 'message'],
      'shape of an error',
    );
    assert.equal(typeof reply.error.message, 'string');
    assert.ok(reply.error.message.length > 0);
    return reply;
  }

  hello(token, extra = {}) {
    return this.request('hello', { token, ...extra });
  }

  // The close code that the server ends the connection with.
  async closeWithin(ms) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not closed within ${ms} ms`)), ms);
    });
    try {
      return (await Promise.race([this.closed, late])).code;
    } finally {
      clearTimeout(timer);
    }
  }

  async close(code = 1000) {
    if (this.ws.readyState === WebSocket.OPEN) this.ws.close(code);
    const timer = setTimeout(() => this.ws.terminate(), 2_000);
    await this.closed;
    clearTimeout(timer);
  }

  drop() {
    this.ws.terminate();
    return this.closed;
  }
}

export function summary(reply) {
  return JSON.stringify(reply, (key, value) =>
    value instanceof Uint8Array ? `bin(${value.length})` : typeof value === 'bigint' ? String(value) : value,
  ).slice(0, 600);
}

export { encode, decode };
