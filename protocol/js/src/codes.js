/*
 * codes.js - the closed lists of the wire: error codes and close codes.
 *
 * It knows neither frames nor sockets. Every failure that a caller of this package
 * sees is a ScrollbackError whose `code` is in one of the two lists below.
 */

/** Codes that the server replies with. */
export const SERVER_CODES = /** @type {const} */ ([
  'bad_request', 'unauthenticated', 'forbidden', 'invalid_cursor', 'not_found', 'conflict',
  'too_large', 'rate_limited', 'overloaded', 'unavailable', 'unknown_outcome', 'internal',
]);

/** Codes that arise here, when no reply came. */
export const CLIENT_CODES = /** @type {const} */ ([
  'connection_lost', 'timeout', 'closed', 'bad_frame',
]);

/** Close codes of the contract. */
export const CLOSE = /** @type {const} */ ({
  NORMAL: 1000,
  DRAINING: 1001,
  UNSUPPORTED: 1003,
  MALFORMED: 1007,
  POLICY: 1008,
  TOO_BIG: 1009,
  NOT_AUTHENTICATED: 4401,
  TOKEN_EXPIRED: 4403,
  HEARTBEAT_MISSED: 4408,
  REPLACED: 4409,
  TOO_SLOW: 4413,
  TOO_MANY: 4429,
});

/** @type {ReadonlySet<string>} */
const SERVER_SET = new Set(SERVER_CODES);

/** @typedef {import('./types.d.ts').ErrorCode} ErrorCode */

/**
 * Every error of this package. `code` is from a closed list; `retryMs` is set when the
 * server named a time; `nonce` is set on a failed post: repeating the post with it can
 * not store the message twice.
 */
export class ScrollbackError extends Error {
  /**
   * @param {ErrorCode} code
   * @param {string} message
   * @param {{retryMs?: number, nonce?: string}} [more]
   */
  constructor(code, message, more = {}) {
    super(message);
    this.name = 'ScrollbackError';
    /** @readonly */
    this.code = code;
    /** @readonly */
    this.retryMs = more.retryMs;
    /** @readonly */
    this.nonce = more.nonce;
  }

  /** The same error, carrying the nonce of the post that failed. @param {string} nonce */
  withNonce(nonce) {
    return new ScrollbackError(this.code, this.message, { retryMs: this.retryMs, nonce });
  }
}

/**
 * A reply's `error` map as an error. A code that this package does not know (a newer
 * server) becomes `internal`, so that the list stays closed.
 * @param {unknown} raw
 * @returns {ScrollbackError}
 */
export function errorFromReply(raw) {
  const map = /** @type {{code?: unknown, message?: unknown, retry_ms?: unknown}} */ (
    typeof raw === 'object' && raw !== null ? raw : {});
  const known = typeof map.code === 'string' && SERVER_SET.has(map.code);
  const code = /** @type {ErrorCode} */ (known ? map.code : 'internal');
  const message = typeof map.message === 'string' ? map.message : 'the server gave no reason';
  const retryMs = typeof map.retry_ms === 'number' ? map.retry_ms : undefined;
  return new ScrollbackError(code, message, { retryMs });
}
