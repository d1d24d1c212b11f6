// A server whose disk and clock lie on demand: lib/fault_preload.c under it.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { projectRoot } from './server.mjs';

// The library of the build, or one compiled here.
export function preloadLibrary(dir) {
  const built = process.env.SB_FAULT_PRELOAD;
  if (built !== undefined && fs.existsSync(built)) return built;
  const out = path.join(dir, 'fault_preload.so');
  const source = path.join(projectRoot, 'tests/lib/fault_preload.c');
  const done = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', out, source, '-ldl'], { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`cc: ${done.error ?? done.stderr}`);
  return out;
}

export class Faults {
  constructor(dir) {
    this.file = path.join(dir, 'faults');
    fs.writeFileSync(this.file, Buffer.alloc(64));
    this.fd = fs.openSync(this.file, 'r+');
    this.set('-');
    this.clock(0);
    // Sanitizers want to come first; this library needs nothing of them.
    const asan = [process.env.ASAN_OPTIONS, 'verify_asan_link_order=0'].filter(Boolean).join(':');
    this.env = { LD_PRELOAD: preloadLibrary(dir), SB_FAULT_FILE: this.file, ASAN_OPTIONS: asan };
  }

  // mode: a letter of fault_preload.c; `well`: so many calls go well before.
  set(mode, well = 0) {
    fs.writeSync(this.fd, `${mode}${well}`, 0);
  }

  clock(seconds) {
    fs.writeSync(this.fd, `${String(seconds).padEnd(23)}\0`, 8);
  }
}
