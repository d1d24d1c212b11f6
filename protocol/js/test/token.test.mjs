// When a token is renewed: never in a loop, whatever the clock or the token's life.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { renewIn } from '../src/token.js';

const token = (claims) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`;
const NOW = 1_700_000_000_000;
const endsIn = (ms) => token({ exp: (NOW + ms) / 1000 });

test('a fifth of its life before its end', () => {
  assert.equal(renewIn(endsIn(1000_000), NOW), 800_000);
});

test('never less than 5 s before its end', () => {
  assert.equal(renewIn(endsIn(20_000), NOW), 15_000);
});

test('a token that is nearly over is not renewed in a loop', () => {
  for (const left of [1, 100, 1000, 4000, 5000, 6000]) assert.ok(renewIn(endsIn(left), NOW) >= 1000, `${left} ms left`);
});

test('a clock that runs ahead of the token does not make a loop', () => {
  assert.equal(renewIn(endsIn(-1), NOW), 30_000);
  assert.equal(renewIn(endsIn(-7_200_000), NOW), 30_000);
});

test('a token whose end cannot be read is not renewed', () => {
  assert.equal(renewIn(token({}), NOW), null);
});
