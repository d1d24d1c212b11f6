/*
 * parse.mjs - the form of the text files (README.md) as data. A line that does not fit
 * is an error with its file and number: nothing is dropped silently.
 */

/** name → list of words */
export function parseSlots(text) {
  const slots = new Map();
  for (const line of text.split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [name, words] = line.split(' = ');
    slots.set(name, words.split(' | '));
  }
  return slots;
}

/** {id, name, cast, system: [text], exchanges: [[line]]} */
export function parseThread(text, file) {
  const thread = { id: '', name: '', cast: [], system: [], exchanges: [] };
  let exchange = [];
  text.split('\n').forEach((line, i) => {
    const word = /^(thread|cast|system) (.+)$/.exec(line);
    if (word !== null) {
      const [, what, rest] = word;
      if (what === 'thread') [thread.id, thread.name] = rest.split(' = ');
      else if (what === 'cast') thread.cast = rest.split(' ');
      else thread.system.push(rest);
    } else if (line.trim() === '') {
      if (exchange.length > 0) thread.exchanges.push(exchange);
      exchange = [];
    } else {
      exchange.push(parseLine(line, `${file}:${i + 1}`));
    }
  });
  if (exchange.length > 0) thread.exchanges.push(exchange);
  if (thread.name === '' || thread.cast.length < 4 || thread.system.length === 0) {
    throw new Error(`${file}: needs a thread line, a cast of four or more, and a system line`);
  }
  return thread;
}

function parseLine(line, where) {
  const match = /^([A-D])([:>=]) ?(.*)$/u.exec(line);
  if (match === null) throw new Error(`${where}: not "SPEAKER: text": ${line}`);
  const parsed = { speaker: match[1], mode: match[2], text: '', image: null, file: null, react: null, edited: false };
  let rest = match[3].trim();
  for (;;) {
    const tag = /\s*\[(image|file|react|edited)(?: ([^\]]+))?\]$/u.exec(rest);
    if (tag === null) break;
    rest = rest.slice(0, tag.index);
    parsed[tag[1]] = tag[1] === 'edited' ? true : tag[2];
  }
  parsed.text = rest;
  if (rest === '' && parsed.image === null && parsed.file === null) throw new Error(`${where}: says nothing`);
  return parsed;
}
