// Refusals must not tell themselves apart by work: within 1 % of each other in instructions.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Counter, unable } from './count.mjs';

const groups = {
  'a cursor, whatever the cause': ['malformed', 'unknown_key', 'bad_tag', 'expired', 'unknown_handle', 'binding', 'snapshot_gone'].map((cause) => `refused-${cause}`),
  'reading a thread that is closed or missing': ['load-closed', 'load-missing'],
  'members of a thread that is closed or missing': ['members-closed', 'members-missing'],
  'posting to a thread that is closed or missing': ['post-closed', 'post-missing'],
  '`before` a hidden or missing row': ['before-hidden', 'before-waiting', 'before-missing'],
  '`after` a hidden or missing row': ['after-hidden', 'after-waiting', 'after-missing'],
  'around a hidden or missing row': ['around-hidden', 'around-waiting', 'around-missing'],
  'a reply to a hidden or missing row': ['reply-hidden', 'reply-waiting', 'reply-missing'],
};
const NUMBERS = [100, 400];
const skip = unable();
let counter;

before(() => {
  if (skip === undefined) counter = new Counter();
});
after(() => counter?.finish());

for (const [what, kinds] of Object.entries(groups)) {
  test(`instructions: ${what}: within 1 %`, { skip, timeout: 600_000 }, async (t) => {
    const counts = {};
    for (const kind of kinds) counts[kind] = Math.round(await counter.count(kind, NUMBERS));
    t.diagnostic(JSON.stringify(counts));
    const values = Object.values(counts);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    t.diagnostic(`spread ${(((high - low) / low) * 100).toFixed(2)} %`);
    assert.ok(low > 1000, 'something was counted');
    assert.ok(high <= low * 1.01, `${low} to ${high}: ${JSON.stringify(counts)}`);
  });
}
