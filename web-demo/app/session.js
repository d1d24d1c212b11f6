/*
 * session.js - a client for one of the demo's users.
 */
import { Client } from '../client/index.js';

export const USERS = ['alice', 'bob'];

/** ms; a token is asked for before each connection, so it must not hang. */
const TOKEN_TIMEOUT_MS = 10_000;

export function openSession(user, hooks) {
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  return new Client({
    url: `${scheme}://${location.host}/v1`,
    token: () => demoToken(user),
    onState: hooks.onState,
    backoff: { first: 500, most: 10_000 },
  });
}

async function demoToken(user) {
  const response = await fetch('/demo/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ user }),
    signal: AbortSignal.timeout(TOKEN_TIMEOUT_MS),
  });
  if (!response.ok) {
    throw new Error(response.status === 404 || response.status === 403
      ? `this server has no demo user ${user} (start it with --demo-users alice,bob)`
      : `the server answered ${response.status} when asked for a token`);
  }
  return (await response.json()).token;
}
