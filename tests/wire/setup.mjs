// Makes sure that node_modules holds what package-lock.json says; else runs `npm ci`.
// Empties SB_RESULTS, so that minimum.mjs never reads an older run.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const { packages } = JSON.parse(fs.readFileSync(path.join(here, 'package-lock.json'), 'utf8'));

function installed(name, version) {
  const file = path.join(here, name, 'package.json');
  return fs.existsSync(file) && JSON.parse(fs.readFileSync(file, 'utf8')).version === version;
}

const missing = Object.entries(packages).filter(([name, entry]) => name !== '' && !installed(name, entry.version));
if (missing.length > 0) {
  console.log(`installing ${missing.map(([name]) => name.replace('node_modules/', '')).join(', ')}`);
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: here, stdio: 'inherit' });
}
if (process.env.SB_RESULTS) fs.rmSync(process.env.SB_RESULTS, { recursive: true, force: true });
