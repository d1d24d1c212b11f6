// scenario(): one test with what it started: servers, directories, connections.
//
// On failure it prints the servers' logs. At the end it stops every server gracefully
// and asserts that they exit with 0. Each outcome is written to SB_RESULTS, where
// minimum.mjs looks whether a test that may never be skipped was.

import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Client } from './client.mjs';
import { Server, runOk, tempDir } from './server.mjs';
import { token } from './token.mjs';

const file = path.basename(process.argv[1] ?? 'unknown');
const results = process.env.SB_RESULTS;
let fresh = true;

function record(title, outcome) {
  if (results === undefined) return;
  fs.mkdirSync(results, { recursive: true });
  const target = path.join(results, `${file}.jsonl`);
  if (fresh) fs.rmSync(target, { force: true });
  fresh = false;
  fs.appendFileSync(target, `${JSON.stringify({ file, title, outcome })}\n`);
}

export class Scope {
  constructor(t) {
    this.t = t;
    this.servers = [];
    this.clients = [];
    this.dirs = [];
    this.skipped = false;
  }

  skip(why) {
    this.skipped = true;
    this.t.skip(why);
  }

  diagnostic(text) {
    this.t.diagnostic(text);
  }

  dir() {
    const dir = tempDir();
    this.dirs.push(dir);
    return dir;
  }

  // A server on a new directory or the given one, started.
  async server(args = [], { dir = this.dir(), ...options } = {}) {
    const server = new Server(dir, args, options);
    this.servers.push(server);
    await server.start();
    return server;
  }

  async client(server, options) {
    const client = await Client.connect(server.url, options);
    this.clients.push(client);
    return client;
  }

  // A connection with a session. who: {user, tenant?, service?}, or the user's name.
  async session(server, who, options) {
    const claims = typeof who === 'string' ? { user: who } : who;
    const client = await this.client(server, options);
    const reply = await client.hello(await token(server.dir, claims));
    if (reply.error) throw new Error(`hello: ${JSON.stringify(reply.error)}`);
    client.welcome = reply;
    client.user = claims.user;
    return client;
  }

  service(server, tenant) {
    return this.session(server, { user: 'svc', tenant, service: true });
  }

  // Imports rows of the JSON Lines form into a directory that nobody serves.
  async importRows(dir, rows, args = []) {
    const source = path.join(this.dir(), 'rows.jsonl');
    fs.writeFileSync(source, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    return runOk(['import', '--data', dir, ...args, '--format', 'jsonl', source]);
  }

  async finish(failed) {
    for (const client of this.clients) client.ws.terminate();
    const problems = [];
    for (const server of this.servers) {
      if (!server.running) continue;
      try {
        await server.stop();
      } catch (error) {
        problems.push(error);
      }
    }
    for (const dir of this.dirs) fs.rmSync(dir, { recursive: true, force: true });
    if (!failed && problems.length > 0) throw problems[0];
  }
}

// options: {timeout} in ms, default two minutes.
export function scenario(title, options, fn) {
  const body = fn ?? options;
  const { timeout = 120_000 } = fn ? options : {};
  test(title, { timeout }, async (t) => {
    const scope = new Scope(t);
    let error;
    try {
      await body(scope);
    } catch (caught) {
      error = caught;
      for (const server of scope.servers) {
        process.stderr.write(`---- log of the server in "${title}"\n${server.logText()}\n----\n`);
      }
    }
    try {
      await scope.finish(error !== undefined);
    } catch (caught) {
      error = caught;
    }
    record(title, error ? 'failed' : scope.skipped ? 'skipped' : 'passed');
    if (error) throw error;
  });
}
