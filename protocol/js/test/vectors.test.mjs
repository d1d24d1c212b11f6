/*
 * vectors.test.mjs - the golden vectors of protocol/vectors, read and written from here.
 *
 * The C side proves the same files, so both mean the same bytes.
 */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

const folder = new URL('../../vectors/', import.meta.url);
const files = (() => {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json')).sort();
  } catch {
    return [];
  }
})();

test('there are golden vectors', () => {
  assert.notEqual(files.length, 0, `no *.json in ${folder.pathname}`);
});
