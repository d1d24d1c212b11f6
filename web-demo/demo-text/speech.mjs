/*
 * speech.mjs - exchanges of one thread spoken by people at a time: rows of the import form.
 *
 * Invariant: `at` never goes back, and a reply names a row that came before it.
 */
const SECOND = 1000;
const TYPES = { pdf: 'application/pdf', csv: 'text/csv', txt: 'text/plain', mp3: 'audio/mpeg', m4a: 'audio/mp4',
  m3u: 'audio/x-mpegurl', xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  png: 'image/png', jpg: 'image/jpeg' };
/** Who speaks what besides English, and how a line in it is told. */
const LANGUAGES = [
  { people: ['hana', 'yuki'], sign: /[\p{Script=Hiragana}\p{Script=Katakana}]/u },
  { people: ['layla', 'omar', 'noor', 'farid'], sign: /\p{Script=Arabic}/u },
  { people: ['priya', 'ravi'], sign: /\p{Script=Devanagari}/u },
  { people: ['dieter', 'jonas', 'emma', 'alice'], sign: /[äöüß]|\b(?:und|nicht|ich|der|das|ist|danke|auch|bei)\b/iu },
  { people: ['inès', 'luc', 'bob'], sign: /[àèêç]|\b(?:le|les|une|oui|est|pour|montre)\b/iu },
  { people: ['carmen', 'sofia', 'alice'], sign: /[¿¡ñ]|\b(?:el|una|para|claro|sin|está)\b/iu },
];
/** One message in so many is deleted later. */
const DELETED_OF = 160;

export class Speech {
  #thread;
  #slots;
  #random;
  #at = 0;
  rows = [];

  constructor(thread, slots, random) {
    this.#thread = thread;
    this.#slots = slots;
    this.#random = random;
  }

  /** Everybody comes in, within a moment. */
  opening(at) {
    this.#at = at;
    for (const by of this.#thread.cast) {
      this.#add({ by, text: 'joined', kind: 'join' });
      this.#at += this.#random.between(0, 2) * 400; // some in the same ms
    }
    this.#add({ by: 'alice', text: this.#thread.system[0], kind: 'system' });
  }

  comingAndGoing(note) {
    const by = this.#random.shuffled(this.#thread.cast.filter((name) => name !== 'alice' && name !== 'bob'))[0];
    this.#at += this.#random.between(1, 9) * 60 * SECOND;
    this.#add({ by, text: 'left', kind: 'leave' });
    this.#at += this.#random.between(20, 90) * 60 * SECOND;
    this.#add({ by, text: 'joined', kind: 'join' });
    this.#add({ by: 'bob', text: note, kind: 'system' });
  }

  exchange(lines, start) {
    this.#at = Math.max(start, this.#at + this.#random.between(3, 30) * 60 * SECOND);
    const people = this.#people(lines);
    const drawn = new Map(); // slot → words not yet used in this exchange
    let before = null;
    lines.forEach((line, i) => {
      if (i > 0 && line.mode !== '=') this.#at += this.#pause(line);
      before = this.#say(line, people, drawn, before);
    });
  }

  /** Speakers to people: all different, by their language, alice and bob more often than others. */
  #people(lines) {
    const speakers = [...new Set(lines.flatMap((line) => [line.speaker, ...mentioned(line.text)]))].sort();
    const regulars = this.#random.shuffled(['alice', 'bob']).filter(() => this.#random.next() < 0.42);
    const order = [...regulars, ...this.#random.shuffled(this.#thread.cast)];
    const speech = (speaker) => lines.filter((line) => line.speaker === speaker).map((line) => line.text).join(' ');
    const people = new Map();
    const take = (speaker, fits) => {
      const free = order.find((name) => fits(name) && ![...people.values()].includes(name));
      if (free !== undefined) people.set(speaker, free);
    };
    for (const speaker of speakers) { // first those for whom it matters
      const language = LANGUAGES.find(({ sign }) => sign.test(speech(speaker)));
      if (language !== undefined) take(speaker, (name) => language.people.includes(name));
    }
    for (const speaker of this.#random.shuffled(speakers)) if (!people.has(speaker)) take(speaker, () => true);
    return people;
  }

  #pause(line) {
    const typing = line.text.length * 120;
    const pause = this.#random.next() < 0.12 ? this.#random.between(4, 25) * 60 : this.#random.between(4, 90);
    return Math.floor(typing + pause * SECOND + this.#random.next() * SECOND);
  }

  #say(line, people, drawn, before) {
    const fill = (text) => text.replace(/\{([^}]+)\}/gu, (whole, name) => people.get(name) ?? this.#draw(name, drawn))
      .replace(/@([A-D])(?![\p{L}\p{N}])/gu, (whole, name) => `@${people.get(name)}`);
    const text = fill(line.text);
    const row = { by: people.get(line.speaker), text };
    if (line.mode === '>' && before !== null) row.reply_to_id = before.id;
    const names = [...text.matchAll(/@(\p{L}+)/gu)].map((match) => match[1]).filter((name) => this.#thread.cast.includes(name));
    if (names.length > 0) row.mentions = names;
    if (line.react !== null) row.reactions = this.#reactions(line.react, row.by);
    if (line.edited) row.edited_at = this.#at + this.#random.between(20, 240) * SECOND;
    const files = [line.image, line.file].filter((name) => name !== null).map((name) => this.#attachment(fill(name)));
    if (files.length > 0) row.attachments = files;
    if (this.#random.between(1, DELETED_OF) === 1) row.deleted = true;
    return this.#add(row);
  }

  /** A word of a slot, each once per exchange before one comes again. */
  #draw(name, drawn) {
    const words = this.#slots.get(name);
    if (words === undefined) throw new Error(`${this.#thread.id}: no slot {${name}}`);
    if ((drawn.get(name) ?? []).length === 0) drawn.set(name, this.#random.shuffled(words));
    return drawn.get(name).pop();
  }

  /** "👍2" → {"👍": [two people, not the author]} */
  #reactions(text, by) {
    const [, emoji, count] = /^(.+?)(\d+)$/u.exec(text.trim());
    const people = this.#random.shuffled(this.#thread.cast.filter((name) => name !== by));
    return { [emoji]: people.slice(0, Number(count)) };
  }

  #attachment(name) {
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
    const file = { name, type, size: this.#random.between(9, 2400) * 1024,
      url: `https://files.wickworks.example/${this.#thread.id}/${this.rows.length + 1}/${encodeURIComponent(name)}` };
    return type.startsWith('image/') ? { ...file, width: 1200, height: 800 } : file;
  }

  #add(row) {
    const { by, text, ...more } = row;
    const full = { thread: this.#thread.name, id: `${this.#thread.id}-${this.rows.length + 1}`, at: this.#at, by, text, ...more };
    this.rows.push(full);
    return full;
  }
}

const mentioned = (text) => [...text.matchAll(/[@{]([A-D])(?![\p{L}\p{N}])/gu)].map((match) => match[1]);
