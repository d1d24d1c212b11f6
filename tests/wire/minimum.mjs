// Fails when a test of the minimum was skipped, failed or did not run.
//
// The minimum is the list in tests/README.md between the two markers, one
// `file: title` per line. SB_RESULTS holds what each scenario wrote (lib/harness.mjs).

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const results = process.env.SB_RESULTS;

// The lines of the list: [{file, title}].
export function readMinimum(text) {
  const begin = text.indexOf('<!-- minimum -->');
  const end = text.indexOf('<!-- end of minimum -->');
  if (begin < 0 || end < begin) throw new Error('README.md: no list between the markers');
  return text
    .slice(begin, end)
    .split('\n')
    .map((line) => /^- `([\w.-]+)`: (.+)$/.exec(line))
    .filter(Boolean)
    .map(([, file, title]) => ({ file, title }));
}

function readResults(folder) {
  const outcomes = new Map();
  if (!fs.existsSync(folder)) return outcomes;
  for (const name of fs.readdirSync(folder)) {
    for (const line of fs.readFileSync(path.join(folder, name), 'utf8').split('\n')) {
      if (line === '') continue;
      const { file, title, outcome } = JSON.parse(line);
      outcomes.set(`${file}: ${title}`, outcome);
    }
  }
  return outcomes;
}

if (results === undefined) {
  console.error('minimum.mjs: set SB_RESULTS to the folder that the tests wrote to');
  process.exit(2);
}
const minimum = readMinimum(fs.readFileSync(path.join(here, '../README.md'), 'utf8'));
const outcomes = readResults(results);
const bad = minimum
  .map(({ file, title }) => ({ name: `${file}: ${title}`, outcome: outcomes.get(`${file}: ${title}`) ?? 'did not run' }))
  .filter(({ outcome }) => outcome !== 'passed');
for (const { name, outcome } of bad) console.error(`${outcome}: ${name}`);
const skipped = [...outcomes].filter(([, outcome]) => outcome === 'skipped');
for (const [name] of skipped) console.log(`skipped: ${name}`);
console.log(`${minimum.length - bad.length} of the minimum of ${minimum.length} passed; ${outcomes.size} ran, ${skipped.length} skipped`);
if (minimum.length === 0 || bad.length > 0) process.exit(1);
