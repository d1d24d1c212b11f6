/*
 * page.test.mjs - the demo's page in a real browser against the server: what a person sees
 * while scrolling back is what a walk gives, and it stays where it is.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CHROMIUM, closeBrowser, haveChromium } from './browser.mjs';
import { LONG, LONG_ROWS, openPage, openWorld, scrollBack, seqsOf, topText, walk } from './world.mjs';

const skip = haveChromium ? false : `skipped: no ${CHROMIUM}`;
const CAP = 1000;
const seqs = (rows) => rows.map((row) => row.seq);

let world;
before(async () => { if (!skip) world = await openWorld(); });
after(async () => {
  await closeBrowser();
  await world?.close();
});

/** A page for the time of one test; afterwards it must not have complained. */
async function withPage(user, thread, run, options = {}) {
  const view = await openPage(world, user, thread, options);
  try {
    await run(view);
    assert.deepEqual(view.complaints, []);
  } finally {
    await view.close();
  }
}

/** Waits until rows of `expected`, and no others, are shown. */
const shownOnly = (page, expected) => page.waitForFunction((list) => {
  const shown = [...document.querySelectorAll('#rows > li')].map((item) => Number(item.dataset.seq));
  return shown.length > 0 && shown.every((seq) => list.includes(seq));
}, expected);

/** Scrolls back to the beginning; each sight must be a slice of `expected` that goes on. */
async function scrollToBeginning(view, expected, look = () => {}) {
  const place = new Map(expected.map((seq, i) => [seq, i]));
  const seen = new Set();
  for (let step = 0; ; step++) {
    const shown = await seqsOf(view.page);
    const start = place.get(shown[0]);
    assert.deepEqual(shown, expected.slice(start, start + shown.length), `step ${step}`);
    for (const seq of shown) seen.add(seq);
    assert.ok(shown.length <= CAP, `${shown.length} rows on the page`);
    const moved = await scrollBack(view.page, (step * 37) % 200);
    if (moved === null) break;
    await look(moved, step);
  }
  assert.deepEqual([...seen].sort((a, b) => place.get(a) - place.get(b)), expected);
}

test('scrolling back shows the whole thread, in place, one request at a time', { skip }, async () => {
  const expected = seqs(await walk(world.client, LONG));
  assert.equal(expected.length, LONG_ROWS);
  await withPage('alice', LONG, async (view) => {
    let asked = view.ops('load_older').length;
    let worst = 0;
    await scrollToBeginning(view, expected, ({ moved, kept }, step) => {
      assert.ok(kept, `step ${step}: the row in view was taken away`);
      worst = Math.max(worst, Math.abs(moved));
      assert.ok(Math.abs(moved) <= 1, `step ${step}: the row in view moved by ${moved} px`);
      const now = view.ops('load_older').length;
      assert.equal(now - asked, 1, `step ${step}: ${now - asked} requests`);
      asked = now;
    });
    console.log(`scrolled back over ${expected.length} rows; the row in view moved by ${worst.toFixed(3)} px at most`);
    assert.match(await topText(view.page), /The beginning of this thread/);
    assert.equal((await seqsOf(view.page)).length, CAP, 'the far end was dropped');
  });
});

test('scrolling forward again fills the far end, and stays in place', { skip }, async () => {
  const expected = seqs(await walk(world.client, LONG));
  await withPage('alice', LONG, async (view) => {
    await scrollToBeginning(view, expected);
    for (let i = 0; i < 40; i++) {
      const shown = await seqsOf(view.page);
      if (shown.at(-1) === expected.at(-1)) break;
      const more = view.page.locator(`#rows > li[data-seq="${expected[expected.indexOf(shown.at(-1)) + 1]}"]`);
      await view.page.locator('#scroller').evaluate((scroller) => { scroller.scrollTop = scroller.scrollHeight; });
      await more.waitFor({ state: 'attached' });
    }
    const shown = await seqsOf(view.page);
    assert.deepEqual(shown, expected.slice(-CAP));
  });
});

test('switching threads: the newest rows of the one clicked last', { skip }, async () => {
  await withPage('alice', LONG, async ({ page }) => {
    const first = await world.client.loadOlder('Design', { limit: 50 });
    const second = await world.client.loadOlder('Book club', { limit: 50 });
    await page.evaluate(async () => {
      const asked = new Promise((resolve) => { window.addEventListener('hashchange', resolve, { once: true }); });
      document.querySelector('[data-thread="Design"]').click();
      await asked;
      document.querySelector('[data-thread="Book club"]').click(); // before the first has come
    });
    await page.locator(`#rows > li[data-seq="${second.messages.at(-1).seq}"]`).waitFor();
    await page.waitForFunction(() => document.querySelector('#edge-bottom button') !== null);
    const shown = await seqsOf(page);
    assert.deepEqual(shown.slice(-50), seqs(second.messages));
    assert.equal(await page.locator('#title').innerText(), 'Book club');
    assert.equal(await page.locator('[data-thread="Book club"]').getAttribute('aria-current'), 'true');
    await page.locator('[data-thread="Design"]').click();
    const text = first.messages.findLast((row) => !row.deleted && row.text !== '').text;
    await page.locator('#rows .text', { hasText: text.slice(0, 40) }).last().waitFor();
    assert.deepEqual((await seqsOf(page)).slice(-50), seqs(first.messages));
  });
});

test('a filter shows what a filtered walk gives, and says when there is nothing', { skip }, async () => {
  const expected = seqs(await walk(world.client, LONG, { filter: { by: ['bob'] } }));
  await withPage('alice', LONG, async (view) => {
    const { page } = view;
    await page.locator('#filter-toggle').click();
    await page.waitForFunction(() => document.querySelector('select[name="by"]').options.length > 1);
    await page.selectOption('select[name="by"]', 'bob');
    await shownOnly(page, expected);
    await scrollToBeginning(view, expected);
    assert.match(await topText(page), /No older message matches/);
    await page.selectOption('select[name="has"]', 'image');
    const images = seqs(await walk(world.client, LONG, { filter: { by: ['bob'], has: ['image'] } }));
    await shownOnly(page, images);
    await scrollToBeginning(view, images);
    await page.fill('input[name="from"]', '2199-01-01');
    await page.locator('#edge-top', { hasText: 'Nothing here matches the filter' }).waitFor();
    assert.deepEqual(await seqsOf(page), []);
    await page.locator('#filters button[type="reset"]').click();
    await page.locator(`#rows > li[data-seq="${LONG_ROWS}"]`).waitFor();
  });
});

test('a post by alice is pending, then stored once, then seen by bob on demand', { skip }, async () => {
  const text = `Hello from the test, שלום, ${Date.now()}`;
  await withPage('bob', 'Music club', async (bob) => {
    await withPage('alice', 'Music club', async (alice) => {
      await alice.page.evaluate(() => {
        window.states = [];
        new MutationObserver(() => {
          for (const item of document.querySelectorAll('#outbox > li')) window.states.push(item.dataset.state);
        }).observe(document.getElementById('outbox'), { childList: true });
      });
      await alice.page.fill('#text', text);
      await alice.page.keyboard.press('Enter');
      await alice.page.locator('#rows .text', { hasText: text }).waitFor();
      await alice.page.waitForFunction(() => document.querySelectorAll('#outbox > li').length === 0);
      const states = await alice.page.evaluate(() => [...new Set(window.states)]);
      assert.deepEqual(states, ['sending', 'stored']);
      assert.equal(await alice.page.locator('#text').inputValue(), '');
    });
    assert.equal(await bob.page.locator('#rows .text', { hasText: text }).count(), 0, 'nothing is live yet');
    await bob.page.locator('#edge-bottom button').click();
    await bob.page.locator('#rows .text', { hasText: text }).waitFor();
    const posts = bob.ops('post').length;
    assert.equal(posts, 0);
  });
  const rows = (await walk(world.client, 'Music club')).filter((row) => row.text === text);
  assert.deepEqual(rows.map((row) => row.by), ['alice']);
});

test('switching the user shows the same thread as the other one', { skip }, async () => {
  await withPage('alice', 'Music club', async ({ page, sent }) => {
    await page.locator('[data-user="bob"]').click();
    await page.locator('#state-text', { hasText: 'connected as bob' }).waitFor();
    await page.fill('#text', 'bob was here');
    await page.locator('#send').click();
    await page.locator('#rows .message.mine .text', { hasText: 'bob was here' }).waitFor();
    assert.equal(sent.filter((frame) => frame.op === 'hello').length, 2);
  });
  assert.equal((await walk(world.client, 'Music club')).at(-1).by, 'bob');
});

test('a refused post says why and keeps the text', { skip }, async () => {
  await withPage('alice', 'Music club', async ({ page }) => {
    await page.locator('#text').evaluate((area) => { area.value = 'x'.repeat(60_000); });
    await page.locator('#send').click();
    await page.locator('#outbox [role="status"]', { hasText: 'too long' }).waitFor();
    await page.locator('#outbox button', { hasText: 'Discard' }).click();
    assert.equal(await page.locator('#outbox > li').count(), 0);
  });
});

test('jump to a day: its first message is at the top of the view', { skip }, async () => {
  const day = new Date(Date.now() - 12 * 86_400_000);
  day.setHours(0, 0, 0, 0);
  const expected = (await walk(world.client, LONG)).find((row) => row.at >= day.getTime());
  await withPage('alice', LONG, async (view) => {
    const { page } = view;
    const two = (n) => String(n).padStart(2, '0');
    await page.fill('#jump-date', `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`);
    await page.locator('#jump button').click();
    await page.locator(`#rows > li.flash[data-seq="${expected.seq}"]`).waitFor();
    const offset = await page.locator(`#rows > li[data-seq="${expected.seq}"]`).evaluate((item) =>
      item.getBoundingClientRect().top - document.getElementById('scroller').getBoundingClientRect().top);
    assert.ok(Math.abs(offset) <= 1, `the row is ${offset} px below the top`);
    await page.fill('#jump-date', '2199-01-01');
    await page.locator('#jump button').click();
    await page.locator('#toast', { hasText: 'Nothing on or after that day' }).waitFor();
    assert.equal((await seqsOf(page)).at(-1), LONG_ROWS);
  });
});

test('a reply leads to its message, wherever it is; its replies can be listed', { skip }, async () => {
  await withPage('alice', LONG, async ({ page }) => {
    await page.locator('#rows .quote b', { hasText: /^↩\ufe0e #900$/ }).click(); // of message 1300
    await page.locator('#rows > li.flash[data-seq="900"]').waitFor();
    const shown = await seqsOf(page);
    assert.deepEqual(shown, Array.from({ length: shown.length }, (_, i) => shown[0] + i), 'one window, no hole');
    await page.locator('#rows > li[data-seq="900"] article').hover();
    await page.locator('#rows > li[data-seq="900"] [title="Show replies"]').click();
    await page.waitForFunction(() => document.querySelectorAll('#rows > li').length === 1);
    assert.deepEqual(await seqsOf(page), [1300]);
  });
});

test('the server restarts: the page says so, comes back and scrolls on', { skip: skip || process.env.SB_BROWSER_FAKE === '1' }, async () => {
  const expected = seqs(await walk(world.client, LONG));
  const view = await openPage(world, 'alice', LONG);
  try {
    await scrollBack(view.page, 50);
    await world.server.halt();
    await view.page.locator('#state[data-state="waiting"]').waitFor();
    await world.server.resume();
    await view.page.locator('#state[data-state="open"]').waitFor();
    await scrollToBeginning(view, expected);
    // The browser itself reports refused connections; nothing else may be wrong.
    assert.deepEqual(view.complaints.filter((text) => !/WebSocket connection|ERR_CONNECTION_REFUSED/.test(text)), []);
  } finally {
    await view.close();
  }
});

test('on a phone nothing sticks out, and the threads open from the menu', { skip }, async () => {
  await withPage('alice', 'Around the world', async ({ page }) => {
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(overflow <= 0, `${overflow} px wider than the screen`);
    assert.equal(await page.locator('[data-thread="Design"]').isVisible(), false);
    await page.locator('#menu').click();
    await page.locator('[data-thread="Design"]').click();
    await page.waitForFunction(() => document.getElementById('title').textContent === 'Design');
    await page.locator('#rows > li').first().waitFor();
  }, { viewport: { width: 360, height: 740 } });
});

test('right-to-left text is laid out so', { skip }, async () => {
  const arabic = (await walk(world.client, 'Around the world')).findLast((row) => /^[\u0600-\u06ff]/.test(row.text ?? ''));
  assert.ok(arabic !== undefined, 'there is one');
  await withPage('alice', 'Around the world', async ({ page }) => {
    await page.goto(page.url());
    let line = page.locator(`#rows > li[data-seq="${arabic.seq}"] .text`);
    while (await line.count() === 0) {
      assert.notEqual(await scrollBack(page, 0), null, 'it is in the thread');
      line = page.locator(`#rows > li[data-seq="${arabic.seq}"] .text`);
    }
    assert.equal(await line.evaluate((element) => getComputedStyle(element).direction), 'rtl');
  });
});
