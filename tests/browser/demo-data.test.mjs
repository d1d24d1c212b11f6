/*
 * demo-data.test.mjs - the made-up conversation fits the import form and can be repeated.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';

const script = fileURLToPath(new URL('../../web-demo/make-demo.mjs', import.meta.url));
const NOW = 1_790_000_000_000;
const DAY = 86_400_000;
const run = (...args) => spawnSync(process.execPath, [script, ...args], { encoding: 'utf8', maxBuffer: 1 << 27 });
const make = (...args) => run('--now', String(NOW), ...args).stdout;
const rowsOf = (text) => text.trim().split('\n').map((line) => JSON.parse(line));

test('every row fits the import form', () => {
  const rows = rowsOf(make());
  const seen = new Set();
  let last = 0;
  for (const row of rows) {
    const where = `${row.thread} ${row.id}`;
    assert.ok(row.at >= last && row.at < NOW && row.at > NOW - 50 * DAY, `${where}: at`);
    last = row.at;
    assert.ok(!seen.has(where), `${where}: an id comes twice`);
    seen.add(where);
    if (row.reply_to_id !== undefined) assert.ok(seen.has(`${row.thread} ${row.reply_to_id}`), `${where}: answers what came before`);
    assert.ok(typeof row.by === 'string' && row.by !== '', `${where}: by`);
    assert.ok(row.text !== '' || row.attachments?.length > 0, `${where}: says something`);
    assert.doesNotMatch(row.text, /[{}]|undefined|\[(image|file|react)/, `${where}: nothing is left to fill in`);
    if (row.edited_at !== undefined) assert.ok(row.edited_at >= row.at && row.edited_at <= NOW, `${where}: edited_at`);
    for (const file of row.attachments ?? []) assert.match(file.url, /^https:\/\/[a-z.]+\.example\//, where);
  }
});

test('it is lively: threads, people, languages, bursts', () => {
  const rows = rowsOf(make());
  assert.ok(rows.length > 3000, `${rows.length} rows`);
  const threads = Map.groupBy ? Map.groupBy(rows, (row) => row.thread)
    : new Map([...new Set(rows.map((row) => row.thread))].map((name) => [name, rows.filter((row) => row.thread === name)]));
  assert.ok(threads.size >= 6 && threads.size <= 9);
  for (const [name, list] of threads) {
    const people = new Set(list.map((row) => row.by));
    assert.ok(people.has('alice') && people.has('bob'), `${name}: alice and bob are there`);
    assert.ok(list.at(-1).at > NOW - 2 * DAY, `${name}: ends about now`);
    assert.ok(list.some((row, i) => row.at === list[i + 1]?.at), `${name}: some in the same ms`);
  }
  assert.ok(new Set(rows.map((row) => row.text)).size > 500);
  for (const sign of [/[äöüß]/, /[¿¡]/, /[èç]/, /\p{Script=Hiragana}/u, /\p{Script=Arabic}/u, /\p{Script=Devanagari}/u,
    /\p{Extended_Pictographic}/u]) assert.ok(rows.some((row) => sign.test(row.text)), String(sign));
  for (const field of ['kind', 'edited_at', 'deleted', 'reply_to_id', 'mentions', 'attachments', 'reactions']) {
    assert.ok(rows.some((row) => row[field] !== undefined), field);
  }
});

test('the same options give the same bytes, another seed others', () => {
  assert.equal(make('--messages', '300'), make('--messages', '300'));
  assert.notEqual(make('--messages', '300'), make('--messages', '300', '--seed', '2'));
});

test('wrong use is told and ends with 2', () => {
  for (const args of [['--nonsense', '1'], ['--messages'], ['--messages', 'many'], ['--days', '0']]) {
    const { status, stderr, stdout } = run(...args);
    assert.equal(status, 2, args.join(' '));
    assert.match(stderr, /usage/);
    assert.equal(stdout, '');
  }
  assert.equal(run('--help').status, 0);
});
