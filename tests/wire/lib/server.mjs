// A real server process: start, wait for its ready line, stop, kill, start again.
//
// It knows the program only by its command line, its exit code and what it prints.
// A stop asserts exit code 0 within five seconds, so that every scenario also tests
// the graceful stop.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
export const projectRoot = path.resolve(here, '../../..');
export const binary = process.env.SB_BIN ?? path.join(projectRoot, 'build/bin/scrollback');
export const sharedData = process.env.SB_SHARED_DATA ?? path.resolve(projectRoot, '../shared/data');
export const fixtures = path.join(projectRoot, 'tests/fixtures');

const READY_MS = 30_000;
export const STOP_MS = 5_000;
const LOG_LINES = 200;

export function tempDir(prefix = 'scrollback-wire-') {
  return fs.mkdtempSync(path.join(os.tmpdir(), prefix));
}

// Runs a subcommand to its end: {code, signal, stdout, stderr, ms}.
export async function run(args, { env = {}, input = '', cwd = undefined, timeout = 120_000 } = {}) {
  const begun = performance.now();
  const child = spawn(binary, args, { env: { ...process.env, ...env }, cwd, stdio: 'pipe' });
  const out = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8');
    child[name].on('data', (text) => (out[name] += text));
  }
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const timer = setTimeout(() => child.kill('SIGKILL'), timeout);
  const [code, signal] = await once(child, 'close');
  clearTimeout(timer);
  return { code, signal, ...out, ms: performance.now() - begun };
}

// Runs a subcommand that must succeed; gives its stdout.
export async function runOk(args, options) {
  const result = await run(args, options);
  assert.equal(result.code, 0, `${args.join(' ')} → ${result.code}\n${result.stdout}\n${result.stderr}`);
  return result.stdout;
}

export class Server {
  // dir: the data directory (made by the caller, kept over restarts).
  constructor(dir, args = [], { env = {}, listen = '127.0.0.1:0' } = {}) {
    this.dir = dir;
    this.args = args;
    this.env = env;
    this.listen = listen;
    this.log = [];
    this.child = null;
  }

  async start(extra = this.args) {
    assert.equal(this.child, null, 'the server runs already');
    const args = ['serve', '--data', this.dir, '--listen', this.listen, ...extra];
    this.note(`-- ${args.join(' ')}`);
    const child = spawn(binary, args, {
      env: { ...process.env, ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    this.exited = once(child, 'close').then(([code, signal]) => {
      this.note(`-- exit code ${code} signal ${signal}`);
      this.child = null;
      return { code, signal };
    });
    child.stderr.setEncoding('utf8').on('data', (text) => this.note(text));
    const url = await this.readyLine(child);
    this.url = url;
    this.port = Number(new URL(url).port);
    this.pid = child.pid;
    return this;
  }

  // The one line on stdout that says that reads work.
  readyLine(child) {
    return new Promise((resolve, reject) => {
      let text = '';
      const timer = setTimeout(() => {
        child.kill('SIGKILL');
        reject(new Error('no ready line in time'));
      }, READY_MS);
      child.stdout.setEncoding('utf8').on('data', (chunk) => {
        this.note(chunk);
        text += chunk;
        const match = /^listening on (ws:\/\/\S+:\d+\/v1)$/m.exec(text);
        if (match) {
          clearTimeout(timer);
          resolve(match[1]);
        }
      });
      this.exited.then(({ code, signal }) => {
        clearTimeout(timer);
        reject(new Error(`the server ended before it was ready: code ${code} signal ${signal}\n${this.logText()}`));
      });
    });
  }

  note(text) {
    this.log.push(...text.trimEnd().split('\n'));
    if (this.log.length > LOG_LINES) this.log.splice(0, this.log.length - LOG_LINES);
  }

  logText() {
    return this.log.join('\n');
  }

  // SIGTERM; asserts a clean exit in time.
  async stop() {
    if (this.child === null) return;
    const begun = performance.now();
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child?.kill('SIGKILL'), 4 * STOP_MS);
    const { code, signal } = await this.exited;
    clearTimeout(timer);
    const ms = Math.round(performance.now() - begun);
    assert.deepEqual({ code, signal }, { code: 0, signal: null }, `stop after ${ms} ms\n${this.logText()}`);
    assert.ok(ms <= STOP_MS, `the stop took ${ms} ms`);
  }

  async kill9() {
    if (this.child === null) return;
    this.child.kill('SIGKILL');
    await this.exited;
  }

  hangup() {
    this.child.kill('SIGHUP');
  }

  get running() {
    return this.child !== null;
  }

  get http() {
    return `http://127.0.0.1:${this.port}`;
  }
}
