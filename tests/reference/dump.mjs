#!/usr/bin/env node
// dump.mjs FORMAT PATH [--thread NAME] [--tz ZONE] - canonical JSON lines of an export, by the
// reference parsers: threads by name, messages in their final order.

const formats = ['jsonl', 'slack', 'irc'];
const [format, path, ...flags] = process.argv.slice(2);
const options = {};
let bad = !formats.includes(format) || path === undefined;
for (let i = 0; i < flags.length; i += 2) {
  if (['--thread', '--tz'].includes(flags[i]) && flags[i + 1] !== undefined) options[flags[i].slice(2)] = flags[i + 1];
  else bad = true;
}
if (bad) {
  process.stderr.write(`usage: dump.mjs ${formats.join('|')} PATH [--thread NAME] [--tz ZONE]\n`);
  process.exit(2);
}

const { parse } = await import(`./${format}.mjs`);
const threads = parse(path, options);
for (const thread of [...threads.keys()].sort()) {
  const rows = threads.get(thread).map((m) => JSON.stringify({ thread, ...m }));
  process.stdout.write(`${rows.join('\n')}\n`);
}
