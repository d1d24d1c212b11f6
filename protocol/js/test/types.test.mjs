/* types.test.mjs - the code, types.d.ts and their agreement, by the TypeScript compiler. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';

const root = fileURLToPath(new URL('..', import.meta.url));
const tsc = `${root}node_modules/typescript/bin/tsc`;

test('tsc finds nothing', { skip: existsSync(tsc) ? false : 'typescript is not installed' }, () => {
  const run = spawnSync(process.execPath, [tsc, '--project', `${root}tsconfig.json`], { encoding: 'utf8' });
  assert.equal(run.status, 0, run.stdout);
});
