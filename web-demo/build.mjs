/*
 * build.mjs - assembles the folder that the server serves: the demo, the client, MessagePack.
 *
 * Nothing is compiled. Browsers need paths where Node takes package names, and servers
 * know `.js` better than `.mjs`, so those few names are rewritten on the way.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const HELP = `usage: node web-demo/build.mjs [OUT]

Assembles the web demo into the folder OUT (default: build/web), replacing what is there.
Needs the packages of protocol/js: run "npm ci" there first.
`;

const here = dirname(fileURLToPath(import.meta.url));
const client = join(here, '../protocol/js');
const msgpack = join(client, 'node_modules/@msgpack/msgpack');

function main(args) {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(HELP);
    return 0;
  }
  if (args.length > 1 || args[0]?.startsWith('-')) {
    process.stderr.write(HELP);
    return 2;
  }
  if (!existsSync(msgpack)) {
    process.stderr.write(`build.mjs: ${msgpack} is missing: run "npm ci" in protocol/js first\n`);
    return 1;
  }
  const out = resolve(args[0] ?? join(here, '../build/web'));
  if (existsSync(out) && readdirSync(out).length > 0 && !existsSync(join(out, 'app/main.js'))) {
    process.stderr.write(`build.mjs: ${out} holds something else; it is left alone\n`);
    return 1;
  }
  const fresh = `${out}.new`; // whole or not at all
  rmSync(fresh, { recursive: true, force: true });
  assemble(fresh);
  rmSync(out, { recursive: true, force: true });
  renameSync(fresh, out);
  process.stdout.write(`${out}\n`);
  return 0;
}

function assemble(out) {
  mkdirSync(out, { recursive: true });
  for (const name of ['index.html', 'style.css', 'messages.css', 'icon.svg', 'app']) {
    cpSync(join(here, name), join(out, name), { recursive: true });
  }
  copyScripts(join(client, 'src'), join(out, 'client'), (text) =>
    text.replaceAll("'@msgpack/msgpack'", "'../vendor/msgpack/index.js'"));
  copyScripts(join(msgpack, 'dist.esm'), join(out, 'vendor/msgpack'), (text) =>
    text.replaceAll('.mjs"', '.js"').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n'));
  cpSync(join(msgpack, 'LICENSE'), join(out, 'vendor/msgpack/LICENSE.txt'));
}

/** Copies the scripts of a folder, `.mjs` as `.js`, each through `change`. */
function copyScripts(from, to, change) {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (entry.isDirectory()) {
      copyScripts(join(from, entry.name), join(to, entry.name), change);
    } else if (/\.m?js$/.test(entry.name)) {
      const text = change(readFileSync(join(from, entry.name), 'utf8'));
      writeFileSync(join(to, entry.name.replace(/\.mjs$/, '.js')), text);
    }
  }
}

process.exitCode = main(process.argv.slice(2));
