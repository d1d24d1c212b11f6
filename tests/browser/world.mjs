/*
 * world.mjs - what each browser test needs: a server with known rows, a Node client, a page.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { decode } from '@msgpack/msgpack';
import { WebSocket } from 'ws';
import { connect } from '../../protocol/js/src/index.js';
import { openBrowser } from './browser.mjs';
import { startFakeServer } from './fake-server.mjs';
import { startRealServer } from './real-server.mjs';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const DAY = 86_400_000;
export const LONG = 'A long walk';
export const LONG_ROWS = 1300;

/** The demo's conversation and one thread of more rows than the page holds, of very different heights. */
function makeRows(now) {
  const demo = execFileSync(process.execPath, [path('../../web-demo/make-demo.mjs'), '--now', String(now),
    '--messages', '1500'], { encoding: 'utf8', maxBuffer: 1 << 26 });
  const rows = demo.trim().split('\n').map((line) => JSON.parse(line));
  let seed = 7;
  const random = () => { seed = (seed * 48271) % 2147483647; return seed / 2147483647; };
  for (let i = 1; i <= LONG_ROWS; i++) {
    rows.push({ thread: LONG, id: `long-${i}`, by: ['alice', 'bob', 'carmen'][i % 3],
      // several in one ms, and days between others
      at: now - 20 * DAY + Math.floor(i / 3) * 3_000_000,
      text: `${i}: ${'a line of some length that wraps somewhere '.repeat(Math.floor(random() ** 3 * 14))}`,
      ...(i % 41 === 0 ? { attachments: [{ name: 'a.png', type: 'image/png', size: 5000, url: 'https://files.example/a.png' }] } : {}),
      ...(i % 10 === 0 ? { reply_to_id: `long-${Math.max(1, i - 400)}` } : {}) });
  }
  return rows;
}

export async function openWorld() {
  const web = path('../../build/web');
  execFileSync(process.execPath, [path('../../web-demo/build.mjs'), web]);
  const rows = makeRows(Date.now() - 60_000);
  const fake = process.env.SB_BROWSER_FAKE === '1';
  const server = await (fake ? startFakeServer : startRealServer)({ web, rows });
  console.log(fake ? 'against the fake server' : 'against the real server');
  const client = await connect({ url: server.url, token: () => server.token('alice'), WebSocket });
  return { server, client, rows, close: async () => {
    client.close();
    await server.stop();
  } };
}

/** All rows of a walk, oldest first. */
export async function walk(client, thread, options = {}) {
  const pages = [];
  for await (const page of client.walkOlder(thread, { limit: 200, ...options })) pages.unshift(page.messages);
  return pages.flat();
}

/** A page as `user` in `thread`, with what it sent and what it complained about. */
export async function openPage(world, user, thread, options = {}) {
  const browser = await openBrowser(options);
  const { page } = browser;
  const sent = [];
  const complaints = [];
  page.on('websocket', (socket) => socket.on('framesent', ({ payload }) => {
    if (typeof payload !== 'string') sent.push(decode(payload));
  }));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(`${world.server.page}#${user}/${encodeURIComponent(thread)}`);
  await page.locator('#rows > li').first().waitFor();
  return { ...browser, sent, complaints, ops: (op) => sent.filter((frame) => frame.op === op) };
}

/* ---- looking at the page ---- */

export const seqsOf = (page) => page.locator('#rows > li').evaluateAll((items) => items.map((item) => Number(item.dataset.seq)));
export const topText = (page) => page.locator('#edge-top').innerText();

/**
 * Scrolls near the top with several events and tells how far the row in view moved once
 * older rows were there. Null at the beginning of the thread.
 */
export function scrollBack(page, distance) {
  return page.evaluate(async (top) => {
    const frame = () => new Promise((resolve) => { requestAnimationFrame(resolve); });
    const scroller = document.getElementById('scroller');
    const rows = document.getElementById('rows');
    if (/beginning|No older|Nothing/.test(document.getElementById('edge-top').innerText)) return null;
    const arrived = new Promise((resolve) => {
      new MutationObserver((changes, observer) => {
        if (!changes.some((change) => change.addedNodes.length > 0)) return;
        observer.disconnect();
        resolve();
      }).observe(rows, { childList: true });
    });
    let done = false;
    arrived.then(() => { done = true; });
    for (let nudge = 4; nudge >= 0 && !done; nudge--) {
      scroller.scrollTop = top + nudge;
      scroller.dispatchEvent(new Event('scroll'));
    }
    const edge = scroller.getBoundingClientRect().top;
    const inView = [...rows.children].map((item) => item.lastElementChild)
      .find((article) => article.getBoundingClientRect().bottom > edge);
    const before = inView.getBoundingClientRect().top;
    await arrived;
    await frame();
    await frame();
    return { moved: inView.getBoundingClientRect().top - before, kept: inView.isConnected };
  }, distance);
}
