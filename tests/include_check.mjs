// Checks that every layer includes only what server/cmake/layers.txt allows it, and that the
// unit tests of the pure layers are linked without event loop, socket library and database.
//
//   node tests/include_check.mjs [ROOT]              the includes of the tree at ROOT
//   node tests/include_check.mjs --linked BINARY...  what test programs are linked with
//   node tests/include_check.mjs --self-test         planted violations are found
//
// A line of layers.txt is `folder: prefix-or-header ...` or `file.c: ...`, which adds to its
// folder's. Included paths are relative to the tree or to server/. Always allowed: the layer's
// own files and the system's headers that belong to libc.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const FOREIGN = /libuv|libwebsockets|liblmdb/;
// Headers of packages, which a layer must have in its line. Other <...> headers are libc's.
const PACKAGES = [
  'msgpack', 'uv.h', 'uv/', 'libwebsockets', 'lws_config.h', 'lmdb.h', 'sodium', 'jansson',
  'xxhash.h', 'xxh3.h', 'zip.h', 'zipconf.h', 'yajl/', 'openssl/', 'zlib.h', 'cmocka.h', 'unicode/',
];

// [{place, allowed: [..]}], longest place first, so that a file's line comes before its folder's.
export function parseRules(text) {
  const rules = [];
  for (const [i, raw] of text.split('\n').entries()) {
    const line = raw.replace(/#.*/, '').trim();
    if (line === '') continue;
    const match = /^([\w./-]+):\s*(.*)$/.exec(line);
    if (!match) throw new Error(`layers.txt, line ${i + 1}: not \`folder: what it may include\``);
    rules.push({ place: match[1], allowed: match[2].split(/\s+/).filter(Boolean) });
  }
  return rules.sort((a, b) => b.place.length - a.place.length);
}

function rulesFor(rules, file) {
  return rules.filter(({ place }) => file === place || file.startsWith(`${place}/`));
}

// `protocol/bytes.h` stays; `base/buf.h` is server/base/buf.h; `buf.h` is beside the file.
function locate(root, file, included) {
  for (const candidate of [included, `server/${included}`, path.posix.join(path.posix.dirname(file), included)]) {
    if (fs.existsSync(path.join(root, candidate))) return candidate;
  }
  return null;
}

function allowedBy(allowed, included, target) {
  const names = [included, ...(target === null ? [] : [target, target.replace(/^server\//, '')])];
  return allowed.some((entry) => entry === '*' || names.some((name) => name === entry || (entry.endsWith('/') && name.startsWith(entry))));
}

const isPackage = (included) => PACKAGES.some((name) => included === name || included.startsWith(name));

// The violations in one file, as texts.
function checkFile(root, rules, file) {
  const found = [];
  const own = rulesFor(rules, file);
  const folder = own.at(-1)?.place; // the shortest: the layer
  const allowed = own.flatMap((rule) => rule.allowed);
  const text = fs.readFileSync(path.join(root, file), 'utf8');
  for (const [i, line] of text.split('\n').entries()) {
    const match = /^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>|(\S+))/.exec(line);
    if (!match) continue;
    const [, quoted, angled, macro] = match;
    const included = quoted ?? angled ?? macro;
    const where = `${file}:${i + 1}`;
    if (macro !== undefined) {
      found.push(`${where}: an include through a macro (${macro}) cannot be checked`);
      continue;
    }
    const target = quoted !== undefined || !isPackage(included) ? locate(root, file, included) : null;
    if (target === null && !isPackage(included)) {
      if (quoted !== undefined) found.push(`${where}: "${included}" is not in the tree`);
      continue; // libc
    }
    if (target !== null && target.startsWith(`${folder}/`)) continue;
    if (!allowedBy(allowed, included, target)) found.push(`${where}: ${folder} may not include ${included}`);
  }
  return found;
}

function sources(root, folder) {
  if (!fs.existsSync(path.join(root, folder))) return [];
  return fs
    .readdirSync(path.join(root, folder), { recursive: true })
    .map((name) => path.posix.join(folder, name.split(path.sep).join('/')))
    .filter((name) => /\.[ch]$/.test(name) && !name.includes('node_modules/'))
    .sort();
}

// All violations of a tree, and how many files were looked at.
export function checkTree(root) {
  const rules = parseRules(fs.readFileSync(path.join(root, 'server/cmake/layers.txt'), 'utf8'));
  const files = ['protocol', 'server'].flatMap((folder) => sources(root, folder));
  const found = [];
  for (const file of files) {
    if (rulesFor(rules, file).length === 0) found.push(`${file}: its folder has no line in layers.txt`);
    else found.push(...checkFile(root, rules, file));
  }
  return { found, count: files.length };
}

// The libraries that a program needs, directly or through others.
function checkLinked(program) {
  const text = execFileSync('ldd', [program], { encoding: 'utf8' });
  return text
    .split('\n')
    .filter((line) => FOREIGN.test(line))
    .map((line) => `${path.basename(program)} is linked with ${line.trim().split(' ')[0]}`);
}

// ---- the check's own test: a small tree with violations planted ----

const TREE = {
  'server/cmake/layers.txt': '# x\nprotocol: msgpack.h\nserver/base: protocol/bytes.h\nserver/core: base/ protocol/bytes.h\nserver/core/cursor.c: sodium.h\nserver/app: *\n',
  'protocol/bytes.h': '#include <stdint.h>\n',
  'protocol/frames.h': '#include "protocol/bytes.h"\n',
  'server/base/buf.h': '#include "protocol/bytes.h"\n#include <sys/types.h>\n',
  'server/core/page.h': '#include "base/buf.h"\n',
  'server/core/page.c': '#include "core/page.h"\n#include "page.h"\n',
  'server/core/cursor.c': '#include <sodium.h>\n#include "core/page.h"\n',
  'server/app/main.c': '#include "core/page.h"\n#include <uv.h>\n#include "protocol/frames.h"\n',
};
const PLANTED = [
  ['server/core/page.c', '#include <uv.h>\n', /server\/core\/page\.c:1: server\/core may not include uv\.h/],
  ['server/core/page.c', '\n  #  include <lmdb.h>\n', /page\.c:2: server\/core may not include lmdb\.h/],
  ['server/core/page.c', '#include <sodium.h>\n', /may not include sodium\.h/], // cursor.c alone may
  ['server/core/page.c', '#include "protocol/frames.h"\n', /may not include protocol\/frames\.h/],
  ['server/core/page.c', '#include "../app/main.h"\n', /may not include|not in the tree/],
  ['server/base/buf.h', '#include "core/page.h"\n', /server\/base may not include core\/page\.h/],
  ['server/base/buf.h', '#include "server/core/page.h"\n', /server\/base may not include server\/core\/page\.h/],
  ['server/base/buf.h', '#include <core/page.h>\n', /server\/base may not include core\/page\.h/],
  ['server/base/buf.h', '#include "../core/page.h"\n', /server\/base may not include \.\.\/core\/page\.h/],
  ['protocol/bytes.h', '#include "base/buf.h"\n', /protocol may not include base\/buf\.h/],
  ['protocol/bytes.h', '#include HEADER\n', /through a macro/],
  ['protocol/bytes.h', '#include "nowhere.h"\n', /not in the tree/],
  ['server/new/x.c', '#include <stdio.h>\n', /no line in layers\.txt/],
];

function plant(root, tree) {
  for (const [name, text] of Object.entries(tree)) {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    fs.writeFileSync(path.join(root, name), text);
  }
}

function selfTest() {
  const failures = [];
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'include-check-'));
  try {
    plant(root, TREE);
    const clean = checkTree(root);
    if (clean.found.length !== 0) failures.push(`the sound tree is refused: ${clean.found.join('; ')}`);
    for (const [name, text, expected] of PLANTED) {
      plant(root, { ...TREE, [name]: text });
      const { found } = checkTree(root);
      if (found.length !== 1 || !expected.test(found[0])) failures.push(`${name} with ${text.trim()}: found ${JSON.stringify(found)}`);
      fs.rmSync(path.join(root, 'server/new'), { recursive: true, force: true });
    }
    try {
      parseRules('protocol msgpack.h\n');
      failures.push('a line without a colon is taken');
    } catch {
      // as it should be
    }
  } finally {
    fs.rmSync(root, { recursive: true, force: true });
  }
  return failures;
}

function main(args) {
  if (args[0] === '--help') {
    console.log('usage: node tests/include_check.mjs [ROOT] | --linked BINARY... | --self-test');
    return 0;
  }
  let found;
  if (args[0] === '--self-test') found = selfTest();
  else if (args[0] === '--linked') found = args.slice(1).flatMap(checkLinked);
  else {
    const root = args[0] ?? path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
    const result = checkTree(root);
    found = result.found;
    if (result.count === 0) found.push(`no sources below ${root}`);
    console.log(`${result.count} files looked at`);
  }
  for (const text of found) console.error(text);
  return found.length === 0 ? 0 : 1;
}

process.exitCode = main(process.argv.slice(2));
