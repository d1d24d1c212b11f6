/*
 * real-server.mjs - build/bin/scrollback (or $SB_BIN) on a fresh directory with imported rows.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
export const BINARY = process.env.SB_BIN ?? fileURLToPath(new URL('../../build/bin/scrollback', import.meta.url));

export async function startRealServer({ web, rows }) {
  if (!existsSync(BINARY)) throw new Error(`${BINARY} is missing: build it, or set SB_BIN`);
  const root = mkdtempSync(join(tmpdir(), 'sb-page-'));
  const data = join(root, 'data');
  writeFileSync(join(root, 'rows.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const { stdout } = await run(BINARY, ['import', '--data', data, '--format', 'jsonl', join(root, 'rows.jsonl')]);
  const summary = stdout.trim().split('\n').at(-1);
  if (!summary.startsWith(`imported ${rows.length} messages`)) throw new Error(`unexpected import: ${summary}`);

  let child;
  let exited;
  const serve = async (listen) => {
    child = spawn(BINARY, ['serve', '--data', data, '--listen', listen, '--web', web, '--demo-users', 'alice,bob'],
      { stdio: ['ignore', 'pipe', 'pipe'] });
    let log = '';
    child.stderr.on('data', (chunk) => { log = (log + chunk).slice(-4000); });
    exited = new Promise((resolve) => { child.once('exit', (code, signal) => resolve({ code, signal })); });
    const ready = (async () => {
      for await (const line of createInterface({ input: child.stdout })) {
        const match = /^listening on ws:\/\/([^/]+)\/v1$/.exec(line);
        if (match !== null) return match[1];
      }
      throw new Error(`the server ended before it was ready:\n${log}`);
    })();
    return ready;
  };
  const where = await serve('127.0.0.1:0');
  const halt = async () => {
    child.kill('SIGTERM');
    return exited;
  };
  return {
    page: `http://${where}/`,
    url: `ws://${where}/v1`,
    token: async (user) => (await run(BINARY, ['token', '--data', data, '--user', user])).stdout.trim(),
    halt,
    resume: () => serve(where),
    stop: async () => {
      const { code, signal } = await halt();
      rmSync(root, { recursive: true, force: true });
      if (code !== 0) throw new Error(`the server ended with ${code ?? signal}`);
    },
  };
}
