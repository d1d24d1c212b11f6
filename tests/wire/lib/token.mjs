// Tokens: from the program's own `token` subcommand, and EdDSA ones signed here, with
// any header and claims, for the server's token-public-key.

import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { runOk } from './server.mjs';

const cache = new Map();

export async function token(dir, { user, tenant, service = false, ttl } = {}) {
  const args = ['token', '--data', dir, '--user', user];
  if (tenant !== undefined) args.push('--tenant', tenant);
  if (service) args.push('--service');
  if (ttl !== undefined) args.push('--ttl', String(ttl));
  const key = JSON.stringify(args);
  if (ttl === undefined && cache.has(key)) return cache.get(key);
  const text = (await runOk(args)).trim();
  if (ttl === undefined) cache.set(key, text);
  return text;
}

export const base64url = (data) => Buffer.from(data).toString('base64url');

// A signer of EdDSA tokens; `file` is the PEM for --token-public-key.
export class EdSigner {
  constructor(dir) {
    const pair = crypto.generateKeyPairSync('ed25519');
    this.privateKey = pair.privateKey;
    this.pem = pair.publicKey.export({ type: 'spki', format: 'pem' });
    this.file = path.join(dir, 'token-public-key.pem');
    fs.writeFileSync(this.file, this.pem, { mode: 0o600 });
  }

  // Header and payload as objects or as JSON text (for what an object cannot say).
  sign(payload, header = { alg: 'EdDSA', typ: 'JWT' }) {
    const text = (part) => (typeof part === 'string' ? part : JSON.stringify(part));
    const body = `${base64url(text(header))}.${base64url(text(payload))}`;
    return `${body}.${base64url(crypto.sign(null, Buffer.from(body), this.privateKey))}`;
  }
}

export function hs256(payload, secret, header = { alg: 'HS256', typ: 'JWT' }) {
  const body = `${base64url(JSON.stringify(header))}.${base64url(JSON.stringify(payload))}`;
  return `${body}.${crypto.createHmac('sha256', secret).update(body).digest('base64url')}`;
}

export const unixNow = () => Math.floor(Date.now() / 1000);
