/*
 * fake-socket.mjs - a WebSocket and a clock that do only what a test tells them.
 *
 * Everything goes through real MessagePack bytes. Deliveries are microtasks; `settle`
 * waits until they ran. Nothing here takes real time.
 */
import { decode, encode } from '@msgpack/msgpack';

/** Lets everything that is ready run. */
export async function settle() {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => { setImmediate(resolve); });
}

export class FakeClock {
  constructor(random = () => 0.5) {
    this.time = 1_700_000_000_000;
    this.timers = [];
    this.random = random;
  }
  now() { return this.time; }
  setTimeout(run, ms) {
    const timer = { run, due: this.time + ms };
    this.timers.push(timer);
    return timer;
  }
  clearTimeout(timer) {
    this.timers = this.timers.filter((one) => one !== timer);
  }
  async advance(ms) {
    const end = this.time + ms;
    for (;;) {
      const next = this.timers.filter((one) => one.due <= end).sort((a, b) => a.due - b.due)[0];
      if (next === undefined) break;
      this.clearTimeout(next);
      this.time = Math.max(this.time, next.due);
      next.run();
      await settle();
    }
    this.time = end;
    await settle();
  }
}

/** A network with one server. `down`: connections fail. `hold`: replies wait for `release`. */
export class FakeNetwork {
  constructor(backend) {
    this.backend = backend;
    this.sockets = [];
    this.down = false;
    this.hold = false;
    this.held = [];
    const network = this;
    this.WebSocket = class extends FakeSocket {
      constructor(url, protocol) { super(network, url, protocol); }
    };
  }
  get last() { return this.sockets[this.sockets.length - 1]; }
  get open() { return this.sockets.filter((socket) => socket.readyState === 1); }
  async release(order = (held) => held) {
    const held = order(this.held);
    this.held = [];
    this.hold = false;
    for (const deliver of held) deliver();
    await settle();
  }
}

class FakeSocket {
  constructor(network, url, protocol) {
    Object.assign(this, { network, url, protocol, readyState: 0, binaryType: 'blob' });
    this.session = network.backend?.session();
    this.listeners = { open: [], message: [], close: [], error: [] };
    network.sockets.push(this);
    queueMicrotask(() => {
      if (this.readyState !== 0) return;
      if (network.down) {
        this.emit('error', {});
        this.closeFromServer(1006);
      } else {
        this.readyState = 1;
        this.emit('open', {});
      }
    });
  }
  addEventListener(type, listener) { this.listeners[type].push(listener); }
  emit(type, event) { for (const listener of this.listeners[type]) listener(event); }
  send(bytes) {
    const frame = decode(bytes);
    const reply = this.network.backend.handle(this.session, frame);
    const deliver = () => {
      this.deliver(reply);
      if (frame.op === 'hello' && reply.error !== undefined) this.closeFromServer(4401);
    };
    if (this.network.hold && frame.op !== 'hello') this.network.held.push(deliver);
    else queueMicrotask(deliver);
  }
  deliver(frame) { this.deliverRaw(encode(frame, { ignoreUndefined: true })); }
  deliverRaw(data) {
    if (this.readyState !== 1) return;
    this.emit('message', { data: data instanceof Uint8Array ? data.slice().buffer : data });
  }
  close(code) {
    if (this.readyState >= 2) return;
    this.readyState = 2;
    this.closedWith = code;
    queueMicrotask(() => this.closeFromServer(code ?? 1005));
  }
  closeFromServer(code) {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.emit('close', { code, reason: '' });
  }
}
