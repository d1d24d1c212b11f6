/*
 * vectors.test.mjs - the golden vectors of protocol/vectors, read and written from here.
 *
 * The C side proves the same files, so both mean the same bytes. A value's `{"$bin": hex}`
 * stands for bytes. Malformed and refused frames concern the server only.
 */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { decodeFrame, encodeFrame } from '../src/codec.js';
import { CLIENT_CODES, SERVER_CODES, errorFromReply } from '../src/codes.js';

const folder = new URL('../../vectors/', import.meta.url);
const vectors = (() => {
  let names;
  try {
    names = readdirSync(folder).filter((name) => name.endsWith('.json')).sort();
  } catch {
    return [];
  }
  return names.flatMap((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')));
})();

const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
const hexOf = (bytes) => Buffer.from(bytes).toString('hex');

/** A vector's JSON value with its bytes made real. */
function real(value) {
  if (Array.isArray(value)) return value.map(real);
  if (typeof value !== 'object' || value === null) return value;
  if (typeof value.$bin === 'string') return bytesOf(value.$bin);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, real(inner)]));
}

const fromServer = vectors.filter((one) => one.direction === 'server');
const fromClient = vectors.filter((one) => one.direction === 'client' && one.outcome === 'ok');

test('there are vectors of both directions', () => {
  assert.ok(fromServer.length > 0 && fromClient.length > 0,
    `${vectors.length} vectors in ${folder.pathname}`);
});

for (const { name, hex, value } of fromServer) {
  test(`read: ${name}`, () => {
    const frame = decodeFrame(bytesOf(hex));
    assert.deepEqual(frame, real(value));
    if (frame.error !== undefined) {
      const error = errorFromReply(frame.error);
      assert.equal(error.code, value.error.code);
      assert.ok(SERVER_CODES.includes(error.code) && !CLIENT_CODES.includes(error.code));
      assert.equal(error.retryMs, frame.error.retry_ms);
    }
  });
}

for (const { name, hex, value } of fromClient) {
  test(`write: ${name}`, () => {
    // Integers may be longer than need be in a vector, so the meaning is compared too.
    const wanted = real(value);
    assert.deepEqual(decodeFrame(bytesOf(hex)), wanted);
    assert.deepEqual(decodeFrame(encodeFrame(wanted)), wanted);
    assert.ok(hexOf(encodeFrame(wanted)).length <= hex.length);
  });
}
