/*
 * token.js - when a token must be renewed.
 *
 * The client looks into a JWT for its times only; whether it is valid is the server's affair.
 */

/** Renewed when a fifth of its life is left, and never less than this before its end. */
const LEAST_LEAD_MS = 5000;

/** Never sooner: a short token, or one that its function gave out before, must not make a loop. */
const LEAST_WAIT_MS = 1000;
const WRONG_CLOCK_MS = 30_000;

/**
 * @param {string} token
 * @param {number} now Unix ms
 * @returns {number | null} ms to wait before renewing; null: no expiry that can be read
 */
export function renewIn(token, now) {
  const exp = expiryOf(token);
  if (exp === null) return null;
  const left = exp - now;
  // It was good enough for a hello: if it looks expired, it is this clock that is wrong.
  if (left <= 0) return WRONG_CLOCK_MS;
  return Math.max(LEAST_WAIT_MS, left - Math.max(left / 5, LEAST_LEAD_MS));
}

/** @param {string} token */
function expiryOf(token) {
  try {
    const body = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
    const claims = /** @type {{exp?: unknown}} */ (JSON.parse(atob(body)));
    return typeof claims.exp === 'number' ? claims.exp * 1000 : null;
  } catch {
    return null;
  }
}
