// The program from the outside: help, exit codes, summaries, clear errors.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { scenario } from './lib/harness.mjs';
import { seqs, walk } from './lib/pages.mjs';
import { run, runOk, sharedData } from './lib/server.mjs';
import { token } from './lib/token.mjs';

const T0 = 1_600_000_000_000;
const line = (row) => `${JSON.stringify(row)}\n`;
const rowsText = (n, extra = {}) =>
  Array.from({ length: n }, (_, i) => line({ thread: 't', at: T0 + i, by: 'a', text: `m${i}`, id: `${i}`, ...extra })).join('');

function file(s, name, content) {
  const target = path.join(s.dir(), name);
  fs.writeFileSync(target, content);
  return target;
}

const lastLine = (text) => text.trimEnd().split('\n').at(-1);
const SUMMARY = /^imported (\d+) messages?, (\d+) updated, (\d+) skipped, (\d+) threads?$/;

function summaryOf(result) {
  const match = SUMMARY.exec(lastLine(result.stdout));
  assert.ok(match, `no summary in:\n${result.stdout}\n${result.stderr}`);
  return match.slice(1).map(Number);
}

const importOf = (dir, source, args = ['--format', 'jsonl']) => run(['import', '--data', dir, ...args, source]);

scenario('contract, program: --help of all subcommands, exit 0, on stdout', async () => {
  const top = await runOk(['--help']);
  for (const name of ['serve', 'token', 'import', 'check', 'keys']) {
    assert.match(top, new RegExp(`\\b${name}\\b`));
    const help = await run([name, '--help']);
    assert.equal(help.code, 0, `${name}: ${help.stderr}`);
    assert.ok(help.stdout.length > 80, name);
    assert.match(help.stdout, /--data/, name);
  }
  const serve = await runOk(['serve', '--help']);
  for (const key of ['listen', 'config', 'web', 'snapshot-ttl', 'cursor-ttl', 'hello-timeout', 'heartbeat', 'max-connections', 'max-connections-per-address', 'max-frame', 'out-queue-max', 'rate-limit', 'page-bytes', 'map-size', 'quota', 'token-public-key', 'metrics-open', 'origins', 'demo-users']) {
    assert.ok(serve.includes(`--${key}`), `serve --help does not tell --${key}`);
  }
});

scenario('contract, program: wrong usage is exit 2 with a hint on stderr', async (s) => {
  const dir = s.dir();
  for (const args of [
    [], ['fly'], ['--fly'], ['serve', '--fly', 'x'], ['serve', '--data'], ['serve', 'stray'],
    ['serve', '--data', dir, '--listen', 'nonsense'], ['serve', '--data', dir, '--listen', '127.0.0.1:99999'],
    ['serve', '--data', dir, '--cursor-ttl', 'soon'], ['serve', '--data', dir, '--page-bytes', '-5'], ['serve', '--data', dir, '--heartbeat', '5 parsecs'],
    ['serve', '--data', dir, '--config', '/does/not/exist'],
    ['token', '--data', dir], ['token', '--data', dir, '--user', ''], ['token', '--data', dir, '--user', 'a', '--ttl', 'x'],
    ['import', '--data', dir], ['import', '--data', dir, '--format', 'papyrus', '/dev/null'], ['import', '--format', 'jsonl', '/dev/null', '--data'],
    ['keys', '--data', dir], ['keys', 'melt', '--data', dir], ['keys', 'drop', '--data', dir],
    ['check'], ['check', '--data', dir, 'stray'],
  ]) {
    const result = await run(args, { timeout: 15_000, cwd: dir });
    assert.equal(result.code, 2, `${args.join(' ')} → ${result.code} ${result.signal}\n${result.stdout}${result.stderr}`);
    assert.ok(result.stderr.trim().length > 0, `${args.join(' ')}: says nothing`);
    assert.equal(result.stdout.includes('listening'), false);
  }
});

scenario('contract, config: a key as flag, file and environment variable; flags win, errors name the line', async (s) => {
  const limits = async (server) => (await s.session(server, 'a')).welcome.limits.page_bytes;
  const config = file(s, 'sb.conf', '# comment\n\npage-bytes = 65536\ncursor-ttl = 10s\n');
  assert.equal(await limits(await s.server(['--config', config])), 65_536);
  const env = { SCROLLBACK_PAGE_BYTES: '32768' };
  assert.equal(await limits(await s.server([], { env })), 32_768);
  assert.equal(await limits(await s.server(['--config', config, '--page-bytes', '16384'], { env })), 16_384);
  for (const [text, hint] of [['page-bytes = many\n', /page-bytes/], ['\nno-such-key = 5\n', /no-such-key/], ['page-bytes 5\n', /2|1/]]) {
    const result = await run(['serve', '--data', s.dir(), '--config', file(s, 'bad.conf', text)], { timeout: 15_000 });
    assert.equal(result.code, 2, result.stderr);
    assert.match(result.stderr, hint);
  }
  const wrong = await run(['serve', '--data', s.dir()], { env: { SCROLLBACK_PAGE_BYTES: 'many' }, timeout: 15_000 });
  assert.equal(wrong.code, 2, wrong.stderr);
  assert.match(wrong.stderr, /page-bytes|PAGE_BYTES/);
});

scenario('contract, origins: one that no browser sends is exit 2 at start, and leaves no directory', async (s) => {
  const dir = path.join(s.dir(), 'data');
  for (const origin of ['chat.example', 'https://chat.example/', 'https://Chat.example', 'https://chat.example:443', 'http://chat.example:80', '*', 'null', 'https://']) {
    const result = await run(['serve', '--data', dir, '--listen', '127.0.0.1:0', '--origins', origin], { timeout: 15_000 });
    assert.equal(result.code, 2, `${origin}: ${result.stderr}`);
    assert.match(result.stderr, /origins/);
  }
  assert.equal(fs.existsSync(dir), false);
});

scenario('contract, program: an address in use is exit 1 with a clear text', async (s) => {
  const server = await s.server();
  const result = await run(['serve', '--data', s.dir(), '--listen', `127.0.0.1:${server.port}`], { timeout: 15_000 });
  assert.equal(result.code, 1, result.stderr);
  assert.match(result.stderr, /in use|bind|listen/i);
});

scenario('contract, token: prints one JWT with the claims asked for; works on a served directory', async (s) => {
  const server = await s.server();
  const printed = await runOk(['token', '--data', server.dir, '--user', 'Zoë', '--tenant', 'acme', '--ttl', '60']);
  assert.match(printed, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  const [head, claims] = printed.split('.').slice(0, 2).map((part) => JSON.parse(Buffer.from(part, 'base64url')));
  assert.equal(head.alg, 'HS256');
  assert.deepEqual([claims.sub, claims.tenant, claims.role], ['Zoë', 'acme', undefined]);
  assert.ok(Math.abs(claims.exp - Date.now() / 1000 - 60) < 5);
  const client = await s.session(server, { user: 'Zoë', tenant: 'acme' });
  assert.deepEqual([client.welcome.user, client.welcome.tenant], ['Zoë', 'acme']);
  const service = (await token(server.dir, { user: 'svc', service: true })).split('.')[1];
  assert.equal(JSON.parse(Buffer.from(service, 'base64url')).role, 'service');
  const stranger = s.dir();
  await runOk(['token', '--data', path.join(stranger, 'new'), '--user', 'a']).catch(() => {});
  const other = await s.client(server);
  const foreignServer = await s.server();
  const foreign = await token(foreignServer.dir, { user: 'a' });
  assert.equal((await other.hello(foreign)).error?.code, 'unauthenticated', 'another directory’s key');
});

scenario('contract, keys: rotate and drop; the only key and unknown ids are refused', async (s) => {
  const server = await s.server();
  await server.stop();
  const mode = fs.statSync(path.join(server.dir, 'keys.json')).mode & 0o777;
  assert.equal(mode, 0o600);
  const keys = (...args) => run(['keys', ...args, '--data', server.dir]);
  assert.notEqual((await keys('drop', '1')).code, 0, 'the only key');
  assert.equal((await keys('rotate')).code, 0);
  assert.notEqual((await keys('drop', '99')).code, 0);
  const old = await keys('drop', '1');
  assert.equal(old.code, 0, old.stderr);
  assert.equal(fs.statSync(path.join(server.dir, 'keys.json')).mode & 0o777, 0o600);
  await server.start();
  await s.session(server, 'anyone-new');
});

scenario('contract, import: the summary line; again nothing is new; changed texts are updates', async (s) => {
  const dir = s.dir();
  const source = file(s, 'rows.jsonl', rowsText(10) + line({ thread: 'u', at: T0, by: 'b', text: 'other', id: 'x' }));
  const first = await importOf(dir, source);
  assert.equal(first.code, 0, first.stderr);
  assert.deepEqual(summaryOf(first), [11, 0, 0, 2]);
  const again = await importOf(dir, source);
  assert.equal(again.code, 0, again.stderr);
  assert.deepEqual(summaryOf(again).slice(0, 3), [0, 0, 11]);
  const changed = file(s, 'rows2.jsonl', line({ thread: 't', at: T0, by: 'a', text: 'changed', id: '0' }) + rowsText(3).split('\n').slice(1).join('\n'));
  assert.deepEqual(summaryOf(await importOf(dir, changed)), [0, 1, 2, 1]);
  const server = await s.server([], { dir });
  const client = await s.session(server, 'a');
  const { rows } = await walk(client, 'load_older', 't', { limit: 3 });
  assert.deepEqual(rows.map((row) => row.text), ['changed', ...Array.from({ length: 9 }, (_, i) => `m${i + 1}`)]);
  await server.stop();
  assert.equal((await run(['check', '--data', dir])).code, 0);
});

scenario('contract, import: into a tenant; authors become writers; a row ahead of now is skipped', async (s) => {
  const dir = s.dir();
  const source = file(s, 'rows.jsonl', rowsText(2) + line({ thread: 't', at: Date.now() + 3_600_000, by: 'a', text: 'future', id: 'f' }));
  const result = await importOf(dir, source, ['--tenant', 'acme', '--format', 'jsonl']);
  assert.equal(result.code, 0, result.stderr);
  assert.deepEqual(summaryOf(result), [2, 0, 1, 1]);
  const server = await s.server([], { dir });
  const author = await s.session(server, { user: 'a', tenant: 'acme' });
  assert.deepEqual(seqs((await walk(author, 'load_older', 't')).rows), [1, 2]);
  await author.ok('post', { thread: 't', text: 'a writer' });
  await (await s.session(server, 'a')).refused('forbidden', 'load_older', { thread: 't' });
});

scenario('contract, import: replies, kinds, tombstones, edits and sources come through', async (s) => {
  const dir = s.dir();
  const source = file(s, 'rows.jsonl', [
    { thread: 't', at: T0 + 2, by: 'b', text: 'an answer before its parent', id: '2', reply_to_id: '1' },
    { thread: 't', at: T0 + 1, by: 'a', text: 'the parent', id: '1', kind: 'note', mentions: ['b'], meta: { k: 'v' } },
    { thread: 't', at: T0 + 3, by: 'a', text: 'gone', id: '3', deleted: true },
    { thread: 't', at: T0 + 4, by: 'a', text: 'edited', id: '4', edited_at: T0 + 9 },
    { thread: 't', at: T0 + 5, by: 'a', text: 'lost parent', id: '5', reply_to_id: 'nowhere' },
    { thread: 't', at: T0 + 6, by: 'a', text: 'file', id: '6', attachments: [{ name: 'a', type: 'image/png', size: 3, url: 'https://x.example/a' }] },
  ].map(line).join(''));
  const result = await importOf(dir, source);
  assert.deepEqual(summaryOf(result), [6, 0, 0, 1], result.stderr);
  const server = await s.server([], { dir });
  const { rows } = await walk(await s.session(server, 'a'), 'load_older', 't', { limit: 2 });
  assert.deepEqual(seqs(rows), [2, 1, 3, 4, 5, 6]);
  const [parent, answer, gone, edited, lost, pictured] = rows;
  assert.deepEqual([parent.kind, parent.mentions, parent.meta], ['note', ['b'], { k: 'v' }]);
  assert.equal(parent.source?.id, '1');
  assert.equal(answer.reply_to, 2, 'resolved at the end of the run');
  assert.deepEqual(Object.keys(gone).sort(), ['at', 'deleted', 'seq', 'version']);
  assert.equal(edited.edited_at, T0 + 9);
  assert.equal('reply_to' in lost, false);
  assert.equal(pictured.attachments[0].type, 'image/png');
});

scenario('contract, import: bad rows are skipped, counted and told with their line; the rest comes in, invalid UTF-8 mended', async (s) => {
  const dir = s.dir();
  const bad = ['{', '[]', 'null', '5', '{"thread":"t"}', '{"thread":"t","at":"x","by":"a","text":"x","id":"b1"}', line({ thread: '', at: T0, by: 'a', text: 'x', id: 'b2' }).trim(), line({ thread: 't', at: -5, by: 'a', text: 'x', id: 'b3' }).trim(), line({ thread: 't', at: T0, by: 5, text: 'x', id: 'b4' }).trim(), line({ thread: 't', at: T0, by: 'a', text: 'x' }).trim()];
  const source = file(s, 'rows.jsonl', Buffer.concat([
    Buffer.from(rowsText(3)), Buffer.from(`${bad.join('\n')}\n\n`), Buffer.from('{"thread":"t","at":1,"by":"a","id":"u","text":"\xff\xfe"}\n', 'latin1'),
    Buffer.from(line({ thread: 't', at: T0 + 99, by: 'a', text: 'last', id: 'last' })),
  ]));
  const result = await importOf(dir, source);
  assert.equal(result.code, 0, result.stderr);
  const [imported, updated, skipped, threads] = summaryOf(result);
  assert.deepEqual([imported, updated, threads], [5, 0, 1]);
  assert.equal(skipped, bad.length, result.stderr);
  assert.match(result.stderr, /rows\.jsonl:4\b/, 'names file and line');
  const server = await s.server([], { dir });
  const { rows } = await walk(await s.session(server, 'a'), 'load_older', 't');
  assert.equal(rows.at(-1).text, 'last');
  assert.equal(rows[0].text, '\ufffd\ufffd');
});

scenario('contract, import: missing files, folders without a match and unreadable ones are exit 1, clear', async (s) => {
  const dir = s.dir();
  for (const source of [path.join(dir, 'missing.jsonl'), s.dir()]) {
    for (const format of ['jsonl', 'slack', 'irc']) {
      const result = await importOf(path.join(s.dir(), 'd'), source, ['--format', format]);
      if (source.endsWith('.jsonl')) assert.equal(result.code, 1, `${format}: ${result.stdout}${result.stderr}`);
      assert.ok(result.code === 0 || result.code === 1, `${format}: code ${result.code}`);
      if (result.code === 1) assert.ok(result.stderr.trim().length > 0);
    }
  }
  const empty = await importOf(path.join(dir, 'e'), file(s, 'empty.jsonl', ''));
  assert.equal(empty.code, 0, empty.stderr);
  assert.deepEqual(summaryOf(empty), [0, 0, 0, 0]);
});

// A Slack export of one channel with one day file.
function slackExport(s, day) {
  const root = s.dir();
  fs.writeFileSync(path.join(root, 'channels.json'), JSON.stringify([{ id: 'C1', name: 'general', members: ['U1'] }]));
  fs.writeFileSync(path.join(root, 'users.json'), JSON.stringify([{ id: 'U1', name: 'ann' }]));
  fs.mkdirSync(path.join(root, 'general'));
  fs.writeFileSync(path.join(root, 'general', '2018-05-16.json'), day);
  return root;
}

scenario('zulip PR#39813: Slack messages without a usable time are skipped and told, the others come in', async (s) => {
  const shared = path.join(sharedData, 'regress-snippets/slack-bad-ts.json');
  const own = JSON.stringify([
    { type: 'message', user: 'U1', text: 'ok', ts: '1526494324.253344' },
    { type: 'message', user: 'U1', text: 'no ts' },
    { type: 'message', user: 'U1', text: 'bad', ts: 'not-a-number' },
    { type: 'message', user: 'U1', text: 'nan', ts: 'NaN' },
    { type: 'message', user: 'U1', text: 'inf', ts: 'inf' },
    { type: 'message', user: 'U1', text: 'last', ts: '1526494326.000100' },
  ]);
  for (const day of [own, ...(fs.existsSync(shared) ? [fs.readFileSync(shared)] : [])]) {
    const dir = s.dir();
    const result = await importOf(dir, slackExport(s, day), ['--format', 'slack']);
    assert.equal(result.code, 0, result.stderr);
    const [imported, , skipped, threads] = summaryOf(result);
    assert.ok(imported >= 1 && imported <= 2, result.stdout);
    assert.ok(skipped >= 4, result.stdout);
    assert.equal(threads, 1);
    assert.match(result.stderr, /2018-05-16\.json/);
  }
});

scenario('tdesktop#24961 and cut downloads: a damaged file of an export never ends the run silently', async (s) => {
  for (const day of ['[{"type":"message","user":"U1","text":"ok","ts":"1526494324.253344"},{"type":"mess', '{', '[1,2', '', 'null', '"text"', '[[[[']) {
    const result = await importOf(s.dir(), slackExport(s, day), ['--format', 'slack']);
    assert.ok([0, 1].includes(result.code), `${day}: ${result.code} ${result.signal}`);
    assert.match(result.stderr, /2018-05-16\.json/, `${day}: says nothing of the file`);
    assert.notEqual(result.signal, 'SIGSEGV');
  }
});

scenario('contract, check: a sound directory is 0, a missing one and a damaged one are not, nothing is written', async (s) => {
  const dir = s.dir();
  await importOf(dir, file(s, 'rows.jsonl', rowsText(2000)));
  const good = await run(['check', '--data', dir]);
  assert.equal(good.code, 0, good.stdout + good.stderr);
  assert.match(good.stdout, /2,?000/, 'tells how many rows it saw');
  const missing = path.join(dir, 'missing');
  assert.notEqual((await run(['check', '--data', missing])).code, 0);
  assert.equal(fs.existsSync(missing), false, 'check made a directory');
  const data = path.join(dir, fs.readdirSync(dir).find((name) => name.endsWith('.mdb') && !name.includes('lock')));
  const whole = fs.readFileSync(data);
  const needle = Buffer.from('m1234');
  const at = whole.indexOf(needle);
  assert.ok(at > 0);
  for (let from = 0, hit; (hit = whole.indexOf(needle, from)) >= 0; from = hit + 1) whole[hit + 1] ^= 1;
  fs.writeFileSync(data, whole);
  const damaged = await run(['check', '--data', dir]);
  assert.equal(damaged.code, 1, damaged.stdout + damaged.stderr);
  const server = await s.server([], { dir });
  const client = await s.session(server, 'a');
  const page = await client.refused('unavailable', 'load_older', { thread: 't', before: 1237, limit: 5 });
  assert.equal(page.messages, undefined, 'a damaged row is never served');
  assert.deepEqual((await client.ok('load_older', { thread: 't', before: 1235, limit: 2 })).messages.map((row) => row.text), ['m1232', 'm1233']);
});

scenario('hostile, store: check tells of a page that is lost, whichever it is, and is never ended by it', async (s) => {
  const dir = s.dir();
  const PAGE = 4096;
  await importOf(dir, file(s, 'rows.jsonl', rowsText(60)));
  const data = path.join(dir, fs.readdirSync(dir).find((name) => name.endsWith('.mdb') && !name.includes('lock')));
  const whole = fs.readFileSync(data);
  let told = 0;
  for (let at = 2 * PAGE; at < whole.length; at += PAGE) {
    const damaged = Buffer.from(whole);
    damaged.fill(0, at, at + PAGE);
    fs.writeFileSync(data, damaged);
    const result = await run(['check', '--data', dir]);
    assert.ok([0, 1, 3].includes(result.code), `page ${at / PAGE}: ${result.code} ${result.signal}`);
    if (result.code === 1) assert.match(result.stdout + result.stderr, /^problem: |damaged|did not come to its end|Sanitizer/m, `page ${at / PAGE}`);
    told += result.code !== 0;
  }
  assert.ok(told >= 5, `only ${told} of ${whole.length / PAGE} pages matter`);
  fs.writeFileSync(data, whole);
  assert.equal((await run(['check', '--data', dir])).code, 0);
});
