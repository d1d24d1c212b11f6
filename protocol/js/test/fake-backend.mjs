/*
 * fake-backend.mjs - the contract's rules over an array: enough of a server for tests.
 *
 * One object per server; `handle(session, frame)` answers one request. No sockets, no
 * clock of its own. Paging follows PROTOCOL.md's page rule, written out plainly.
 */

const byOrder = (a, b) => a.at - b.at || a.seq - b.seq;

class Refusal extends Error {
  constructor(code, message, more = {}) {
    super(message);
    this.map = { code, message, ...more };
  }
}

export class FakeBackend {
  constructor({ now = () => 1_700_000_000_000, pageRows = 200 } = {}) {
    this.now = now;
    this.pageRows = pageRows; // a page is cut after so many rows looked at: a scan's budget
    this.threads = new Map();
    this.version = 0;
    this.nextCursor = 1;
    this.requests = []; // every frame that came, for assertions
  }

  session() {
    return { user: null, cursors: new Map() };
  }

  addThread(name, { title, members = {} } = {}) {
    this.version++;
    this.threads.set(name, { name, title, rows: [], nonces: new Map(), seq: 0,
      members: new Map(Object.entries(members)) });
  }

  addMessage(thread, fields) {
    const t = this.threads.get(thread);
    const newest = t.rows.length === 0 ? 0 : t.rows[t.rows.length - 1].at;
    const row = { seq: ++t.seq, at: Math.max(this.now(), newest), version: ++this.version, ...fields };
    row.created = row.version;
    t.rows.push(row);
    t.rows.sort(byOrder);
    return row;
  }

  handle(session, frame) {
    this.requests.push(frame);
    try {
      return { re: frame.id, ...this.#answer(session, frame) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { re: frame.id, error: error.map };
    }
  }

  #answer(session, frame) {
    if (frame.op === 'hello') return this.#hello(session, frame);
    switch (frame.op) {
      case 'load_older': return this.#load(session, frame, 'older');
      case 'load_newer': return this.#load(session, frame, 'newer');
      case 'load_around': return this.#around(session, frame);
      case 'post': return this.#post(session, frame);
      case 'create_thread':
        this.addThread(frame.thread, { ...frame, members: { [session.user]: 'moderator', ...frame.members } });
        return { version: this.version };
      case 'set_member': return this.#setMember(session, frame);
      case 'members':
        return { members: [...this.#thread(session, frame).members].map(([user, role]) => ({ user, role })),
          next: null };
      case 'threads': return this.#list(session);
      default: throw new Refusal('bad_request', 'no such operation');
    }
  }

  #hello(session, { token }) {
    const user = /^token:(.+)$/.exec(token)?.[1] ?? userOfJwt(token);
    if (user === null) throw new Refusal('unauthenticated', 'the token is not valid');
    session.user = user;
    return { user, tenant: 'default', resume: null, resumed: false, version: this.version, epoch: 1,
      limits: { page: 200, page_bytes: 1 << 20, frame: 65536, text: 49152 }, heartbeat_ms: 30000 };
  }

  #thread(session, { thread }) {
    const t = this.threads.get(thread);
    if (t === undefined || !t.members.has(session.user)) {
      throw new Refusal('forbidden', 'not your thread, or there is none');
    }
    return t;
  }

  #setMember(session, frame) {
    const t = this.#thread(session, frame);
    if (frame.role === null || frame.role === undefined) t.members.delete(frame.user);
    else t.members.set(frame.user, frame.role);
    return { version: ++this.version };
  }

  #list(session) {
    const threads = [...this.threads.values()].filter((t) => t.members.has(session.user)).map((t) => ({
      thread: t.name, title: t.title, role: t.members.get(session.user), unread: 0, read: 0,
      newest: t.rows.length === 0 ? undefined : shown(t.rows[t.rows.length - 1]),
    }));
    return { threads, next: null };
  }

  #post(session, { thread, text, nonce, kind, reply_to, mentions, attachments }) {
    const t = this.#thread(session, { thread });
    if (t.members.get(session.user) === 'reader') throw new Refusal('forbidden', 'a reader does not post');
    if (typeof text !== 'string' || text === '') throw new Refusal('bad_request', 'a post needs a text');
    if (Buffer.byteLength(text) > 49152) throw new Refusal('too_large', 'a text has at most 48 KiB');
    const key = `${session.user}\n${nonce}`;
    const first = nonce === undefined ? undefined : t.nonces.get(key);
    if (first !== undefined) return { ...first, duplicate: true };
    const row = this.addMessage(thread, { by: session.user, text, kind, reply_to, mentions, attachments });
    const reply = { seq: row.seq, at: row.at, version: row.version };
    t.nonces.set(key, reply);
    return reply;
  }

  #load(session, frame, direction) {
    const t = this.#thread(session, frame);
    const limit = checkLimit(frame.limit);
    const key = canonical(frame.filter);
    let place = { snapshot: this.version, position: null };
    const mark = direction === 'older' ? frame.before : frame.after;
    if (frame.cursor !== undefined && frame.cursor !== null) {
      place = session.cursors.get(Buffer.from(frame.cursor).toString('hex'));
      if (place === undefined || place.thread !== t.name || place.key !== key || place.direction !== direction) {
        throw new Refusal('invalid_cursor', 'the cursor is not valid here');
      }
    } else if (mark !== undefined && mark !== null) {
      const row = t.rows.find((r) => r.seq === mark);
      if (row === undefined) throw new Refusal('not_found', 'no such message');
      place.position = row;
    }
    const page = this.#page(t, frame.filter, place, limit, direction);
    return { messages: page.rows.map(shown), [direction]: this.#issue(session, t, key, direction, page),
      version: place.snapshot, now: this.version };
  }

  #page(t, filter, { snapshot, position }, limit, direction) {
    const sign = direction === 'older' ? -1 : 1;
    const line = t.rows.filter((r) => r.created <= snapshot
      && (position === null || sign * byOrder(r, position) > 0));
    if (sign < 0) line.reverse();
    const looked = line.slice(0, this.pageRows);
    const hits = looked.filter((r) => matches(r, filter));
    const rows = hits.slice(0, limit);
    const more = hits.length > limit || looked.length < line.length;
    const last = hits.length > limit ? rows[rows.length - 1] : looked[looked.length - 1];
    if (sign < 0) rows.reverse();
    return { rows, more, snapshot, position: last };
  }

  #issue(session, t, key, direction, { more, snapshot, position }) {
    if (!more) return null;
    const bytes = Buffer.alloc(24, 0);
    bytes.writeUInt32BE(this.nextCursor++, 20);
    session.cursors.set(bytes.toString('hex'), { thread: t.name, key, direction, snapshot, position });
    return new Uint8Array(bytes);
  }

  #around(session, frame) {
    const t = this.#thread(session, frame);
    const limit = checkLimit(frame.limit);
    const key = canonical(frame.filter);
    const line = t.rows.filter((r) => matches(r, frame.filter));
    let centre = frame.seq !== undefined ? line.findIndex((r) => r.seq === frame.seq)
      : line.findIndex((r) => r.at >= frame.at);
    const found = centre >= 0;
    const none = { messages: [], older: null, newer: null, found, version: this.version, now: this.version };
    if (!found && (frame.seq !== undefined || line.length === 0)) return none;
    if (!found) centre = line.length;
    const start = Math.max(0, Math.min(centre - (limit >> 1), line.length - limit));
    const rows = line.slice(start, start + limit);
    const issue = (direction, more, position) =>
      this.#issue(session, t, key, direction, { more, snapshot: this.version, position });
    return { ...none, messages: rows.map(shown), older: issue('older', start > 0, rows[0]),
      newer: issue('newer', start + limit < line.length, rows[rows.length - 1]) };
  }
}

function userOfJwt(token) {
  try {
    return JSON.parse(Buffer.from(String(token).split('.')[1], 'base64url')).sub ?? null;
  } catch {
    return null;
  }
}

function checkLimit(limit = 50) {
  if (!Number.isInteger(limit) || limit < 1 || limit > 200) {
    throw new Refusal('bad_request', 'limit is 1 to 200');
  }
  return limit;
}

function shown({ created, ...row }) {
  const clean = row.deleted ? { seq: row.seq, at: row.at, version: row.version, deleted: true } : row;
  return Object.fromEntries(Object.entries(clean).filter(([, value]) => value !== undefined));
}

function canonical(filter) {
  const entries = Object.entries(filter ?? {}).filter(([, v]) => v !== null && v !== undefined
    && v !== '' && !(Array.isArray(v) && v.length === 0));
  return JSON.stringify(entries.map(([k, v]) => [k, Array.isArray(v) ? [...new Set(v)].sort() : v]).sort());
}

function matches(row, filter) {
  const f = filter ?? {};
  const any = (list, test) => list === undefined || list === null || list.length === 0 || list.some(test);
  return any(f.by, (user) => row.by === user)
    && any(f.kind, (kind) => (row.kind ?? 'message') === kind)
    && any(f.has, (what) => has(row, what))
    && (f.thread_of === undefined || row.reply_to === f.thread_of)
    && (f.from === undefined || row.at >= f.from)
    && (f.to === undefined || row.at < f.to);
}

function has(row, what) {
  const files = row.attachments ?? [];
  if (what === 'reply') return row.reply_to !== undefined;
  if (what === 'link') return /https?:\/\//.test(row.text ?? '');
  if (what === 'image') return files.some((file) => file.type.startsWith('image/'));
  if (what === 'file') return files.some((file) => !file.type.startsWith('image/'));
  return files.length > 0;
}
