/*
 * format.js - times, names, sizes and errors as people read them.
 */

const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const DAY = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });
const SHORT_DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'medium' });

export const timeOf = (at) => TIME.format(at);
export const fullTimeOf = (at) => FULL.format(at);

/** A number that is the same for all times of one local day. */
export const dayKey = (at) => new Date(at).setHours(0, 0, 0, 0);

export function dayName(at, now = Date.now()) {
  const days = Math.round((dayKey(now) - dayKey(at)) / 86_400_000);
  if (days === 0) return 'Today';
  if (days === 1) return 'Yesterday';
  return DAY.format(at);
}

/** For lists: the time today, else the day. */
export function shortWhen(at, now = Date.now()) {
  return dayKey(at) === dayKey(now) ? TIME.format(at) : SHORT_DAY.format(at);
}

/** The first ms of the day that a date input names, in local time; null if it is empty. */
export function startOfDay(value, plusDays = 0) {
  const parts = /^(\d{4,6})-(\d\d)-(\d\d)$/.exec(value);
  if (parts === null) return null;
  const at = new Date(Number(parts[1]), Number(parts[2]) - 1, Number(parts[3]) + plusDays).getTime();
  return Number.isFinite(at) && at >= 0 ? at : null;
}

/** Up to two letters for an avatar. */
export function initials(name) {
  const words = name.split(/[\s._-]+/u).filter((word) => word !== '');
  const letters = words.length > 1 ? [...words[0]][0] + [...words[1]][0] : [...(words[0] ?? '?')].slice(0, 2).join('');
  return letters.toLocaleUpperCase();
}

/** A hue 0–359 that stays with a name. */
export function hueOf(name) {
  let hash = 2166136261;
  for (const char of name) hash = Math.imul(hash ^ char.codePointAt(0), 16777619);
  return (hash >>> 0) % 360;
}

export function sizeOf(bytes) {
  const units = ['B', 'KB', 'MB', 'GB'];
  let unit = 0;
  let value = bytes;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

const ERRORS = {
  bad_request: 'The server did not understand this request.',
  unauthenticated: 'The server did not accept the sign-in.',
  forbidden: 'You may not do this here.',
  not_found: 'That message is not there any more.',
  conflict: 'Someone changed this meanwhile.',
  too_large: 'This is too long to send.',
  rate_limited: 'Too many requests: wait a moment.',
  overloaded: 'The server is very busy: try again in a moment.',
  unavailable: 'The server can not do this right now.',
  unknown_outcome: 'The server is not sure that it was stored. Trying again is safe.',
  internal: 'Something went wrong in the server.',
  connection_lost: 'The connection was lost.',
  timeout: 'The server did not answer in time.',
  closed: 'The connection is closed.',
  bad_frame: 'The server sent something that can not be read.',
};

/** What to tell a person about a ScrollbackError. */
export const errorText = (error) => ERRORS[error?.code] ?? `Something went wrong: ${error?.message ?? error}`;
