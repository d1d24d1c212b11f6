/*
 * walk.js - a whole thread, page after page, newest to oldest.
 *
 * Only a nil cursor is the end: a page may be short or empty before it. Within one session
 * all pages show the thread as it was at the first. When the session is lost, the walk
 * reopens below the oldest row that it has given out, so nothing comes twice.
 */
import { ScrollbackError } from './codes.js';

/**
 * @param {import('./client.js').Client} client
 * @param {string} thread
 * @param {import('./types.d.ts').WalkOptions} options
 * @returns {AsyncGenerator<import('./types.d.ts').OlderPage, void, void>}
 */
export async function* walkOlder(client, thread, { filter, limit, before }) {
  /** @type {import('./types.d.ts').Cursor | undefined} */
  let cursor;
  let oldest = before;
  let failures = 0;
  for (;;) {
    /** @type {import('./types.d.ts').OlderPage} */
    let page;
    try {
      page = await client.loadOlder(thread,
        cursor === undefined ? { filter, limit, before: oldest } : { filter, limit, cursor });
    } catch (error) {
      // Twice in a row without a page between means that trying again does not help.
      if (!canReopen(error) || client.state === 'closed' || ++failures > 2) throw error;
      if (error.code === 'invalid_cursor') {
        if (cursor === undefined) throw error;
        cursor = undefined;
      }
      continue;
    }
    failures = 0;
    oldest = page.messages[0]?.seq ?? oldest;
    yield page;
    if (page.older === null) return;
    cursor = page.older;
  }
}

/**
 * @param {unknown} error
 * @returns {error is ScrollbackError}
 */
function canReopen(error) {
  return error instanceof ScrollbackError
    && (error.code === 'invalid_cursor' || error.code === 'connection_lost');
}
