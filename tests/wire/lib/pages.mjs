// What a walk must give, said in the plainest way: lists, sorted and cut.
//
// The reference knows the whole thread. The walker asks the server page by page and
// asserts what holds for every walk: no row twice, strict order, an end.

import assert from 'node:assert/strict';

export const order = (a, b) => a.at - b.at || a.seq - b.seq;
export const seqs = (rows) => rows.map((row) => row.seq);

// The pages of load_older over rows in order (oldest first): newest page first.
export function olderPages(rows, limit) {
  const pages = [];
  let end = rows.length;
  do {
    const start = Math.max(0, end - limit);
    pages.push(rows.slice(start, end));
    end = start;
  } while (end > 0);
  return pages;
}

export function newerPages(rows, limit) {
  const pages = [];
  let start = 0;
  do {
    pages.push(rows.slice(start, start + limit));
    start += limit;
  } while (start < rows.length);
  return pages;
}

const list = (value) => (Array.isArray(value) && value.length > 0 ? value : undefined);

// Whether a shown row passes a filter (all but text and mentions).
export function matches(row, filter) {
  if (!filter) return true;
  const by = list(filter.by);
  if (by && !by.includes(row.by)) return false;
  const kind = list(filter.kind);
  if (kind && !kind.includes(row.kind ?? 'message')) return false;
  const has = list(filter.has);
  if (has && !has.some((what) => hasPart(row, what))) return false;
  if (filter.thread_of != null && row.reply_to !== filter.thread_of) return false;
  if (filter.from != null && row.at < filter.from) return false;
  return filter.to == null || row.at < filter.to;
}

function hasPart(row, what) {
  const attachments = row.attachments ?? [];
  const isImage = (one) => one.type.startsWith('image/');
  switch (what) {
    case 'attachment':
      return attachments.length > 0;
    case 'image':
      return attachments.some(isImage);
    case 'file':
      return attachments.some((one) => !isImage(one));
    case 'link':
      return /https?:\/\//.test(row.text ?? '');
    case 'reply':
      return row.reply_to != null;
    default:
      throw new Error(`no such has: ${what}`);
  }
}

const NEXT = { load_older: 'older', load_newer: 'newer' };
const same = (a, b) => a != null && b != null && Buffer.compare(a, b) === 0;

// The shape of a page reply, whatever it holds.
export function checkPage(page, op) {
  for (const name of op === 'load_around' ? ['older', 'newer'] : [NEXT[op]]) {
    const cursor = page[name];
    assert.ok(name in page, `${op}: no field ${name}`);
    if (cursor === null) continue;
    assert.ok(cursor instanceof Uint8Array, `${op}: ${name} is a bin or nil`);
    assert.ok(cursor.length > 0 && cursor.length <= 96, `${op}: cursor of ${cursor.length} bytes`);
  }
  assert.ok(Number.isSafeInteger(page.version), 'version');
  assert.ok(Number.isSafeInteger(page.now), 'now');
  assert.ok(Array.isArray(page.messages));
  for (let i = 1; i < page.messages.length; i++) {
    assert.ok(order(page.messages[i - 1], page.messages[i]) < 0, `${op}: rows out of order`);
  }
}

// Walks to the end. Gives {pages, rows, version}; rows oldest first.
// limit: a number, a function of the page's index, or undefined.
export async function walk(client, op, thread, { limit, filter, cursor, first = {}, max = 1e6, between } = {}) {
  const pages = [];
  const limitOf = typeof limit === 'function' ? limit : () => limit;
  let next = cursor;
  let version;
  do {
    const fields = { thread, limit: limitOf(pages.length), filter };
    Object.assign(fields, next == null ? first : { cursor: next });
    const page = await client.ok(op, fields);
    checkPage(page, op);
    joinPage(op, pages, page.messages);
    version ??= page.version;
    assert.equal(page.version, version, 'all pages of a walk are at one version');
    assert.ok(!same(page[NEXT[op]], next), 'the same cursor came back');
    pages.push(page.messages);
    next = page[NEXT[op]];
    assert.ok(pages.length <= max, `more than ${max} pages`);
    if (between && next !== null) await between(pages.length, next);
  } while (next !== null);
  const rows = op === 'load_older' ? pages.slice().reverse().flat() : pages.flat();
  return { pages, rows, version };
}

// Every page lies strictly beyond the one before.
function joinPage(op, pages, rows) {
  if (rows.length === 0) return;
  const before = pages.findLast((page) => page.length > 0);
  if (before === undefined) return;
  if (op === 'load_older') assert.ok(order(rows.at(-1), before[0]) < 0, 'a page is not older');
  else assert.ok(order(before.at(-1), rows[0]) < 0, 'a page is not newer');
}

// One page's sequence numbers, by a request that must succeed.
export async function pageSeqs(client, op, fields) {
  const page = await client.ok(op, fields);
  checkPage(page, op);
  return seqs(page.messages);
}
