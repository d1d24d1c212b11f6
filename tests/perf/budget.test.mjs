// Instructions per page, post and hello against the recorded ones. SB_PERF_RECORD=1 (./run
// perf-record) records anew.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Counter, unable } from './count.mjs';

const file = path.join(path.dirname(new URL(import.meta.url).pathname), 'budget.json');
const MORE = 1.1;
const kinds = {
  'page-written': [100, 300],
  'page-repacked': [100, 300],
  post: [1024, 3072], // whole rounds of what is written behind
  hello: [50, 150],
};

test('instructions: page, post and hello keep to the budget', { skip: unable(), timeout: 800_000 }, async (t) => {
  const counter = new Counter();
  const record = process.env.SB_PERF_RECORD === '1';
  try {
    const cpu = counter.cpu();
    const budget = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : {};
    if (!record && budget.of !== cpu) {
      t.skip(`recorded with ${budget.of}, this is ${cpu}`);
      return;
    }
    const counts = {};
    for (const [kind, numbers] of Object.entries(kinds)) counts[kind] = Math.round(await counter.count(kind, numbers));
    t.diagnostic(JSON.stringify(counts));
    if (record) {
      fs.writeFileSync(file, `${JSON.stringify({ of: cpu, instructions: counts }, null, 2)}\n`);
      return;
    }
    for (const [kind, n] of Object.entries(counts)) {
      const allowed = budget.instructions[kind] * MORE;
      assert.ok(n <= allowed, `${kind}: ${n} instructions, ${budget.instructions[kind]} recorded`);
    }
  } finally {
    counter.finish();
  }
});
