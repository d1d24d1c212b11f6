// Hostile tokens and the life of a session's token.
//
// Tokens are signed here with a key of our own (EdDSA), so that each defect stands
// alone: everything else about the token is right.

import assert from 'node:assert/strict';
import { scenario } from './lib/harness.mjs';
import { pageSeqs } from './lib/pages.mjs';
import { EdSigner, base64url, hs256, token, unixNow } from './lib/token.mjs';

const ID = 77;

async function house(s, args = []) {
  const signer = new EdSigner(s.dir());
  const server = await s.server(['--token-public-key', signer.file, ...args]);
  return { signer, server };
}

const claims = (extra = {}) => ({ sub: 'alice', exp: unixNow() + 600, ...extra });

// The reply to a hello with this token and the close code after a refusal.
async function tryToken(s, server, text, fields = {}) {
  const client = await s.client(server);
  const reply = await client.request('hello', { token: text, ...fields }, { id: ID });
  const code = reply.error ? await client.closeWithin(10_000) : undefined;
  if (!reply.error) await client.close();
  return { reply, code };
}

scenario('hostile, tokens: each defect alone: the same refusal, then 4401', async (s) => {
  const { signer, server } = await house(s);
  const now = unixNow();
  const good = signer.sign(claims());
  const [head, body, signature] = good.split('.');
  const directory = await token(server.dir, { user: 'alice' });
  const [dirHead, dirBody, dirSignature] = directory.split('.');
  const none = (part) => `${base64url(JSON.stringify({ alg: part }))}.${body}.`;
  const defects = {
    'alg none': none('none'),
    'alg None with a signature': `${none('None')}${signature}`,
    'alg absent': signer.sign(claims(), { typ: 'JWT' }),
    'alg RS256': signer.sign(claims(), { alg: 'RS256' }),
    'alg as a list': signer.sign(claims(), { alg: ['EdDSA'] }),
    'HS256 with the public key as secret': hs256(claims(), signer.pem),
    'HS256 with the raw public key as secret': hs256(claims(), Buffer.from(signer.pem.split('\n')[1], 'base64').subarray(-32)),
    'HS256 with an empty secret': hs256(claims(), ''),
    'a kid that is a path': signer.sign(claims(), { alg: 'EdDSA', kid: '../../x' }),
    'HS256 with a kid that is a path': hs256(claims(), '', { alg: 'HS256', kid: '../../../../../../dev/null' }),
    'a kid that is a number': signer.sign(claims(), { alg: 'EdDSA', kid: 1 }),
    jku: signer.sign(claims(), { alg: 'EdDSA', jku: 'https://evil.example/keys' }),
    jwk: signer.sign(claims(), { alg: 'EdDSA', jwk: { kty: 'OKP', crv: 'Ed25519', x: 'AAAA' } }),
    crit: signer.sign(claims(), { alg: 'EdDSA', crit: ['exp'] }),
    'expired by 61 s': signer.sign(claims({ exp: now - 61 })),
    'expired by 1 s': signer.sign(claims({ exp: now - 1 })),
    'no exp': signer.sign({ sub: 'alice' }),
    'exp as a string': signer.sign(claims({ exp: String(now + 600) })),
    'exp of zero': signer.sign(claims({ exp: 0 })),
    'exp negative': signer.sign(claims({ exp: -5 })),
    'nbf ahead by 120 s': signer.sign(claims({ nbf: now + 120 })),
    'nbf as a string': signer.sign(claims({ nbf: 'now' })),
    'no sub': signer.sign({ exp: now + 600 }),
    'an empty sub': signer.sign(claims({ sub: '' })),
    'a sub that is a number': signer.sign(claims({ sub: 5 })),
    'a sub of 129 bytes': signer.sign(claims({ sub: 'x'.repeat(129) })),
    'a sub with a control character': signer.sign(claims({ sub: 'a\u0001' })),
    'a sub with a NUL': signer.sign(claims({ sub: 'alice\u0000bob' })),
    'a tenant that is a number': signer.sign(claims({ tenant: 5 })),
    'an empty tenant': signer.sign(claims({ tenant: '' })),
    'a duplicate sub': signer.sign(`{"sub":"alice","exp":${now + 600},"sub":"bob"}`),
    'a duplicate alg': signer.sign(claims(), '{"alg":"EdDSA","alg":"EdDSA"}'),
    'claims that are a list': signer.sign('[]'),
    'claims that are no JSON': signer.sign('{'),
    '5 KiB': signer.sign(claims({ pad: 'x'.repeat(5000) })),
    'padded base64': `${head}.${body}.${signature}==`,
    'padded claims': `${head}.${body}=.${signature}`,
    'standard base64': `${head}.${body}.${signature.replaceAll('-', '+').replaceAll('_', '/')}+`,
    'no signature': `${head}.${body}.`,
    'no third part': `${head}.${body}`,
    'a fourth part': `${good}.x`,
    'a space before': ` ${good}`,
    'a newline behind': `${good}\n`,
    'the signature cut': good.slice(0, -4),
    'another user’s claims': `${head}.${base64url(JSON.stringify(claims({ sub: 'bob' })))}.${signature}`,
    'the signature of another alg': `${dirHead}.${dirBody}.${signature}`,
    'the directory’s token as EdDSA': `${head}.${dirBody}.${dirSignature}`,
    'three dots': '...',
    'an empty token': '',
    'no token at all': 'x',
  };
  assert.equal((await tryToken(s, server, good)).reply.error, undefined, 'the good one');
  let expected;
  const wrong = [];
  for (const [what, text] of Object.entries(defects)) {
    const { reply, code } = await tryToken(s, server, text);
    if (reply.error?.code !== 'unauthenticated' || code !== 4401) {
      wrong.push(`${what}: ${reply.error?.code ?? 'accepted'}, ${code}`);
      continue;
    }
    expected ??= reply.raw;
    if (!reply.raw.equals(expected)) wrong.push(`${what}: other bytes`);
  }
  assert.deepEqual(wrong, []);
});

scenario('contract, tokens: what is right is accepted: tenant, nbf within 60 s, further claims, both keys', async (s) => {
  const { signer, server } = await house(s);
  const now = unixNow();
  for (const [what, text, user, tenant] of [
    ['plain', signer.sign(claims()), 'alice', 'default'],
    ['with a tenant', signer.sign(claims({ tenant: 'acme' })), 'alice', 'acme'],
    ['nbf ahead by 30 s', signer.sign(claims({ nbf: now + 30 })), 'alice', 'default'],
    ['an issuer’s own name of its key', signer.sign(claims(), { alg: 'EdDSA', kid: 'key-2024:1' }), 'alice', 'default'],
    ['nbf in the past', signer.sign(claims({ nbf: now - 9999 })), 'alice', 'default'],
    ['further claims', signer.sign(claims({ iss: 'me', aud: ['x'], iat: now, n: { a: 1 } })), 'alice', 'default'],
    ['a name with other letters', signer.sign(claims({ sub: 'Zoë 🙂' })), 'Zoë 🙂', 'default'],
    ['exp far ahead', signer.sign(claims({ exp: 4_000_000_000 })), 'alice', 'default'],
    ['the directory’s key', await token(server.dir, { user: 'alice' }), 'alice', 'default'],
    ['the directory’s key, tenant', await token(server.dir, { user: 'bob', tenant: 'acme' }), 'bob', 'acme'],
  ]) {
    const { reply } = await tryToken(s, server, text);
    assert.deepEqual([reply.error, reply.user, reply.tenant], [undefined, user, tenant], what);
  }
  const admin = await s.client(server);
  assert.equal((await admin.hello(signer.sign(claims({ role: 'service' })))).error, undefined);
  await admin.ok('create_thread', { thread: 't' });
  const nobody = await s.client(server);
  await nobody.hello(signer.sign(claims()));
  await nobody.refused('forbidden', 'create_thread', { thread: 'u' });
});

scenario('contract, hello: its reply, and refusals of form', async (s) => {
  const server = await s.server();
  const client = await s.session(server, 'alice');
  const w = client.welcome;
  assert.deepEqual([w.user, w.tenant, w.resumed], ['alice', 'default', false]);
  assert.ok('resume' in w);
  assert.ok(Number.isSafeInteger(w.version) && Number.isSafeInteger(w.epoch) && w.heartbeat_ms > 0);
  assert.deepEqual(w.limits, { page: 200, page_bytes: 1_048_576, frame: 65_536, text: 49_152 });
  const again = await s.session(server, 'alice');
  assert.equal(again.welcome.epoch, w.epoch);
  await server.stop();
  await server.start();
  assert.equal((await s.session(server, 'alice')).welcome.epoch, w.epoch, 'the epoch is the store’s');
  const fresh = await s.server();
  assert.notEqual((await s.session(fresh, 'alice')).welcome.epoch, w.epoch, 'another store, another epoch');
});

scenario('contract, hello: absurd tickets and seen: a fresh session or bad_request, no hint why', async (s) => {
  const server = await s.server();
  const text = await token(server.dir, { user: 'alice' });
  for (const resume of [Buffer.alloc(0), Buffer.alloc(20, 1), Buffer.alloc(96, 0xff)]) {
    const { reply } = await tryToken(s, server, text, { resume });
    assert.deepEqual([reply.error, reply.resumed], [undefined, false]);
  }
  const seen = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`t${i}`, 1]));
  const client = await s.client(server);
  const reply = await client.hello(text, { seen });
  assert.equal(reply.error?.code, 'bad_request', '65 entries of seen');
});

scenario('hostile, tokens: expiring while connected → 4403 within 1 s, also between two pages', { timeout: 60_000 }, async (s) => {
  const { signer, server } = await house(s);
  const svc = await s.service(server);
  await svc.ok('create_thread', { thread: 't', members: { alice: 'writer' } });
  for (let i = 0; i < 4; i++) await svc.ok('post', { thread: 't', text: 'm' });
  const exp = unixNow() + 3;
  const idle = await s.client(server);
  await idle.hello(signer.sign(claims({ exp })));
  const busy = await s.client(server);
  await busy.hello(signer.sign(claims({ exp })));
  const page = await busy.ok('load_older', { thread: 't', limit: 2 });
  const code = await idle.closeWithin(10_000);
  const late = Date.now() - exp * 1000;
  assert.equal(code, 4403);
  assert.ok(late >= -50 && late <= 1_500, `${late} ms after the expiry`);
  const after = await busy.request('load_older', { thread: 't', limit: 2, cursor: page.older }).catch((error) => error);
  assert.equal(after.messages, undefined, 'no rows after the expiry');
  assert.equal(await busy.closeWithin(5_000), 4403);
});

scenario('contract, sessions: a second hello of the same user renews, keeps the session’s cursors', { timeout: 60_000 }, async (s) => {
  const { signer, server } = await house(s);
  const svc = await s.service(server);
  await svc.ok('create_thread', { thread: 't', members: { alice: 'writer' } });
  for (let i = 0; i < 4; i++) await svc.ok('post', { thread: 't', text: 'm' });
  const exp = unixNow() + 2;
  const client = await s.client(server);
  await client.hello(signer.sign(claims({ exp })));
  const page = await client.ok('load_older', { thread: 't', limit: 2 });
  const renewed = await client.hello(signer.sign(claims({ exp: exp + 600 })));
  assert.deepEqual([renewed.error, renewed.user, renewed.resumed], [undefined, 'alice', false]);
  const other = await s.client(server);
  await other.hello(signer.sign(claims({ exp })));
  assert.equal(await other.closeWithin(10_000), 4403, 'the clock is past the first expiry');
  assert.deepEqual(await pageSeqs(client, 'load_older', { thread: 't', limit: 2, cursor: page.older }), [1, 2]);
});

scenario('hostile, tokens: a second hello as another user, tenant, or with a bad token → 4401', async (s) => {
  const { signer, server } = await house(s);
  for (const [what, text] of [
    ['another user', signer.sign(claims({ sub: 'bob' }))],
    ['another tenant', signer.sign(claims({ tenant: 'acme' }))],
    ['a bad token', 'x.y.z'],
    ['an expired token', signer.sign(claims({ exp: unixNow() - 5 }))],
  ]) {
    const client = await s.client(server);
    await client.hello(signer.sign(claims()));
    const reply = await client.hello(text).catch((error) => error);
    assert.notEqual(reply.resumed, false, `${what}: accepted`);
    assert.equal(await client.closeWithin(10_000), 4401, what);
  }
});
