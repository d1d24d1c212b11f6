// compare.mjs IMPORT_DUMP - holds the server's readers against the independent parsers of
// tests/reference: over the fixtures always, over the shared real exports where they are.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, cpSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { merge } from '../../reference/common.mjs';

const dump = process.argv[2];
const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const fixtures = join(root, 'tests/fixtures');
const shared = process.env.SB_SHARED_DATA ?? resolve(root, '../shared/data');
if (!dump) {
  process.stderr.write('usage: compare.mjs IMPORT_DUMP\n');
  process.exit(2);
}

/** What the C reader emits: {rows, skipped, err}. */
function read(format, path, options) {
  const flags = Object.entries(options).flatMap(([k, v]) => [k === 'textMax' ? '--text-max' : `--${k}`, String(v)]);
  const run = spawnSync(dump, [format, path, ...flags], { encoding: 'buffer', maxBuffer: 1 << 30 });
  const err = run.stderr.toString();
  assert.equal(run.status, 0, `${format} ${path}: ${err}`);
  const rows = new TextDecoder('utf-8', { fatal: true }).decode(run.stdout).split('\n').filter(Boolean).map((l) => JSON.parse(l));
  return { rows, skipped: Number(/ skipped=(\d+)/.exec(err)[1]), err };
}

/** Emitted rows as threads in their final order, updates applied. */
function settle(rows) {
  const threads = new Map();
  for (const { thread, ...m } of rows) {
    if (!threads.has(thread)) threads.set(thread, new Map());
    const t = threads.get(thread);
    t.set(m.id, t.has(m.id) ? merge(t.get(m.id), m) : m);
  }
  return new Map([...threads].map(([t, all]) => [t, [...all.values()].sort((a, b) => a.at - b.at)]));
}

const tally = (rows) => rows.reduce((n, m) => ({ ...n, [m.kind ?? 'message']: (n[m.kind ?? 'message'] ?? 0) + 1 }), {});

async function compare(format, path, options = {}, expected = {}) {
  const { parse } = await import(`../../reference/${format}.mjs`);
  const got = read(format, expected.zip ?? path, options);
  const want = parse(path, options);
  const settled = settle(got.rows);
  assert.deepEqual([...settled.keys()].sort(), [...want.keys()].sort(), `${path}: threads`);
  for (const [thread, rows] of want) {
    const ours = settled.get(thread);
    for (let i = 0; i < Math.max(rows.length, ours.length); i++) {
      assert.deepEqual(ours[i], rows[i], `${path}: ${thread}, message ${i} (left: server, right: reference)`);
    }
  }
  assert.equal(got.skipped, want.skipped, `${path}: skipped\n${got.err}`);
  if (expected.kinds) assert.deepEqual(tally(got.rows), expected.kinds, path);
  if (expected.rows !== undefined) assert.equal(got.rows.length, expected.rows, path);
  const n = [...want.values()].reduce((sum, rows) => sum + rows.length, 0);
  process.stdout.write(`ok ${format} ${path} ${JSON.stringify(options)}: ${n} messages, ${got.skipped} skipped\n`);
}

async function withShared(format, path, options, expected) {
  const full = join(shared, path);
  if (existsSync(full)) await compare(format, full, options, expected);
  else process.stdout.write(`skipped ${path}: not here\n`);
}

await compare('jsonl', join(fixtures, 'jsonl/mixed.jsonl'), {}, { rows: 17 });
await compare('jsonl', join(fixtures, 'jsonl/mixed.jsonl'), { thread: 'one', textMax: 12 });
await compare('jsonl', join(fixtures, 'jsonl/bytes.jsonl'), {}, { rows: 2 });
await compare('slack', join(fixtures, 'slack/export'));
await compare('irc', join(fixtures, 'irc/archive'));
await compare('irc', join(fixtures, 'irc/archive'), { thread: 'town', tz: 'America/New_York', textMax: 9 });
await compare('irc', join(fixtures, 'irc/znc'));
await compare('irc', join(fixtures, 'irc/znc'), { tz: 'Europe/Berlin' });
await compare('irc', join(fixtures, 'irc/znc/libera/#town/2021-10-31.log'), { tz: 'Europe/Berlin' }, { rows: 7 });

const houston = 'slack-houstondatavis-2016/export';
await withShared('slack', houston, {}, { rows: 1382 });
await withShared('slack', houston, {}, { rows: 1382, zip: join(shared, `${houston}.zip`) });

const ubuntu = 'irc-ubuntu-disentangled';
const kinds = { message: 221619, action: 513, system: 25783, notice: 47, other: 1 };
await withShared('irc', ubuntu, { thread: 'ubuntu' }, { kinds });

// The archive of another viewer: unpacked for the reference, read packed by the server.
const viewer = join(shared, 'slack-export-viewer-fixture/testarchive.zip');
const work = mkdtempSync(join(tmpdir(), 'sb-import-'));
try {
  if (!existsSync(viewer)) process.stdout.write('skipped slack-export-viewer-fixture: not here\n');
  else if (spawnSync('unzip', ['-q', viewer, '-d', join(work, 'viewer')]).status !== 0) process.stdout.write('skipped slack-export-viewer-fixture: no unzip here\n');
  else {
    await compare('slack', join(work, 'viewer'), {}, { rows: 158 });
    await compare('slack', join(work, 'viewer'), {}, { rows: 158, zip: viewer });
  }
  // Lines with ISO-2022-JP escapes; the files have no date in their name.
  const japanese = join(shared, 'irc-iso2022jp-fixture/madoka_iso-2022-jp');
  if (!existsSync(japanese)) process.stdout.write('skipped irc-iso2022jp-fixture: not here\n');
  else {
    mkdirSync(join(work, 'cre'));
    readdirSync(japanese).filter((f) => f !== 'topic.txt').sort().forEach((f, i) => cpSync(join(japanese, f), join(work, `cre/2021-09-0${i + 1}.log`)));
    await compare('irc', join(work, 'cre'), { tz: 'Asia/Tokyo' }, { rows: 5 });
    const told = read('irc', join(work, 'cre'), {}).rows.map((m) => m.text);
    assert(told.some((t) => t === 'てすと'), 'the escapes are decoded');
  }
} finally {
  rmSync(work, { recursive: true });
}
