// Runs the driver under callgrind and tells the instructions of one operation.
//
// Each kind runs with two numbers of operations on a copy of the same store; the difference
// per operation is free of whatever comes once.

import { spawnSync, execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const here = path.dirname(new URL(import.meta.url).pathname);
export const driver = process.env.SB_PERF_DRIVER ?? path.resolve(here, '../../build/dev/tests/perf/perf_driver');

// Why nothing can be counted here; undefined when it can.
export function unable() {
  if (!fs.existsSync(driver)) return `no ${driver}`;
  if (spawnSync('valgrind', ['--version']).status !== 0) return 'valgrind is missing';
  return undefined;
}

export class Counter {
  constructor() {
    this.root = fs.mkdtempSync(path.join(os.tmpdir(), 'scrollback-perf-'));
    this.store = path.join(this.root, 'store');
    const made = spawnSync(driver, ['setup', this.store], { encoding: 'utf8' });
    if (made.status !== 0) throw new Error(`setup: ${made.stderr}`);
    this.n = 0;
  }

  async #collected(kind, n) {
    const dir = path.join(this.root, `run-${this.n++}`);
    fs.cpSync(this.store, dir, { recursive: true });
    const args = ['--tool=callgrind', '--collect-atstart=no', '--toggle-collect=measured_step', '--toggle-collect=measured_apply', '--callgrind-out-file=/dev/null', driver, kind, String(n), dir];
    const { stderr } = await promisify(execFile)('valgrind', args, { maxBuffer: 1 << 24 });
    fs.rmSync(dir, { recursive: true, force: true });
    const match = /Collected : (\d+)/.exec(stderr);
    if (match === null) throw new Error(`callgrind told no count: ${stderr}`);
    return Number(match[1]);
  }

  // Instructions of one operation.
  async count(kind, [few, many]) {
    const [a, b] = await Promise.all([this.#collected(kind, few), this.#collected(kind, many)]);
    return (b - a) / (many - few);
  }

  // What counts depend on besides the code: budgets are compared on the same only.
  cpu() {
    const { stdout } = spawnSync('valgrind', ['-q', driver, 'cpu'], { encoding: 'utf8' });
    return stdout.trim();
  }

  finish() {
    fs.rmSync(this.root, { recursive: true, force: true });
  }
}
