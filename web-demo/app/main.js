/*
 * main.js - puts the parts of the page together.
 *
 * The address holds who and where: #user/thread.
 */
import { byId } from './dom.js';
import { Composer } from './composer.js';
import { Feed } from './feed.js';
import { Filters } from './filters.js';
import { errorText } from './format.js';
import { Outbox } from './outbox.js';
import { USERS, openSession } from './session.js';
import { loadThreads, renderThreads, renderUsers } from './sidebar.js';
import { Timeline } from './timeline.js';

const TOAST_MS = 5000;

let client = null;
let user = null;
let threads = [];
let retryTick;

/* ---- the parts ---- */

const scroller = byId('scroller');
const actions = {
  get me() { return user; },
  find: (seq) => feed.find(seq),
  open: (seq) => feed.toMessage(seq),
  reply: (message) => composer.replyTo(message),
  replies: (message) => {
    filters.setReplies(message.seq);
    openThread(feed.thread, filters.value);
  },
};
const timeline = new Timeline(scroller, byId('rows'), actions);
const feed = new Feed(timeline, { top: byId('edge-top'), bottom: byId('edge-bottom') }, {
  say,
  changed: () => {
    outbox.settle();
    showNewestButton();
  },
});
const outbox = new Outbox(byId('outbox'), {
  post: (item) => client.post(item.thread, item.text, { ...item.options, nonce: item.nonce }),
  shown: (item) => item.thread === feed.thread && feed.find(item.seq) !== undefined,
  stored: showStored,
});
const filters = new Filters(byId('filters'), byId('filter-toggle'), byId('filter-count'),
  (filter) => openThread(feed.thread, filter));
const composer = new Composer({ form: byId('composer'), text: byId('text'), banner: byId('replying'),
  bannerText: byId('replying-text'), cancel: byId('replying-cancel') }, (text, options) => {
  outbox.add(feed.thread, text, options);
  if (feed.atEnd) timeline.toBottom();
});

/* ---- who ---- */

function become(next) {
  const old = client;
  client = null;
  old?.close();
  user = next;
  outbox.clear();
  filters.clear();
  composer.replyTo(null);
  renderUsers(byId('who'), USERS, user, (chosen) => { location.hash = addressOf(chosen, feed.thread); });
  let mine = null; // while it is being made, it tells its first state already
  mine = openSession(user, { onState: (change) => { if (client === mine) connectionState(change); } });
  client = mine;
}

function connectionState({ state, error, retryMs }) {
  clearInterval(retryTick);
  byId('state').dataset.state = state;
  const label = byId('state-text');
  if (state === 'open') {
    label.textContent = `connected as ${user}`;
    feed.resumed();
    outbox.resumed();
    refreshThreads();
  } else if (state === 'connecting') {
    label.textContent = 'connecting…';
  } else if (state === 'closed') {
    label.textContent = `disconnected: ${errorText(error)}`;
  } else {
    const until = Date.now() + retryMs;
    const why = error.message.startsWith('no connection: ') ? error.message.slice(15) : 'offline';
    const tick = () => {
      label.textContent = `${why}; trying again in ${Math.max(0, Math.ceil((until - Date.now()) / 1000))} s`;
    };
    tick();
    retryTick = setInterval(tick, 500);
  }
}

/* ---- where ---- */

async function refreshThreads() {
  const mine = client;
  try {
    const loaded = await loadThreads(mine);
    if (mine !== client) return;
    threads = loaded;
  } catch (error) {
    if (mine === client && error.code !== 'connection_lost') say(errorText(error));
    return;
  }
  renderThreads(byId('threads'), threads, feed.thread, goTo);
  const wanted = parseAddress().thread;
  if (feed.thread === null && threads.length > 0) {
    openThread(threads.some((one) => one.thread === wanted) ? wanted : threads[0].thread, {});
  } else if (threads.length === 0) {
    byId('title').textContent = 'No threads yet';
  }
}

function goTo(thread) {
  closeMenu();
  if (thread === feed.thread) feed.newest();
  else location.hash = addressOf(user, thread);
}

async function openThread(thread, filter) {
  if (thread === null) return;
  const changed = thread !== feed.thread;
  if (changed) {
    filters.clear();
    composer.replyTo(null);
    loadMembers(thread);
  }
  const info = threads.find((one) => one.thread === thread);
  const title = info?.title ?? thread;
  byId('title').textContent = title;
  document.title = `${title} · Scrollback`;
  composer.place(title);
  const opened = feed.open(client, thread, changed ? {} : filter);
  renderThreads(byId('threads'), threads, feed.thread, goTo);
  await opened;
}

async function loadMembers(thread) {
  const mine = client;
  const users = [];
  try {
    let cursor;
    do {
      const page = await mine.members(thread, { cursor, limit: 200 });
      users.push(...page.members.map((member) => member.user));
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
  } catch {
    return; // the filter then offers nobody; the rest works
  }
  if (mine !== client || thread !== feed.thread) return;
  filters.setMembers(users.sort((a, b) => a.localeCompare(b)));
  byId('subtitle').textContent = `${users.length} people`;
}

/** A post is stored: fetch up to it, so that what others wrote before it is there too. */
async function showStored(item) {
  if (item.thread !== feed.thread) return;
  if (feed.atEnd) await feed.checkNewer();
  else await feed.newest();
  if (feed.find(item.seq) !== undefined) timeline.toBottom();
  else say(`Stored as #${item.seq}; the filter hides it.`);
  refreshThreads();
}

/* ---- small things ---- */

let toastTimer;
function say(text) {
  const toast = byId('toast');
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { toast.hidden = true; }, TOAST_MS);
}

function showNewestButton() {
  byId('to-newest').hidden = feed.atEnd && timeline.below < timeline.height;
}

function closeMenu() {
  document.body.classList.remove('menu-open');
  byId('menu').setAttribute('aria-expanded', 'false');
}

const addressOf = (who, thread) => `#${encodeURIComponent(who)}${thread === null ? '' : `/${encodeURIComponent(thread)}`}`;

function parseAddress() {
  try {
    const [who, thread] = location.hash.slice(1).split('/').map(decodeURIComponent);
    return { who: USERS.includes(who) ? who : USERS[0], thread: thread || null };
  } catch {
    return { who: USERS[0], thread: null };
  }
}

function followAddress() {
  const { who, thread } = parseAddress();
  if (who !== user) {
    become(who);
    if (feed.thread !== null) openThread(thread ?? feed.thread, {}); // rights differ: load anew
  } else if (thread !== null && thread !== feed.thread) {
    openThread(thread, {});
  }
}

scroller.addEventListener('scroll', () => {
  feed.scrolled();
  showNewestButton();
}, { passive: true });
byId('to-newest').addEventListener('click', () => (feed.atEnd ? timeline.toBottom() : feed.newest()));
byId('jump').addEventListener('submit', (event) => {
  event.preventDefault();
  feed.toDay(byId('jump-date').value);
});
byId('menu').addEventListener('click', () => {
  const open = document.body.classList.toggle('menu-open');
  byId('menu').setAttribute('aria-expanded', String(open));
});
byId('scrim').addEventListener('click', closeMenu);
document.addEventListener('keydown', (event) => { if (event.key === 'Escape') closeMenu(); });
window.addEventListener('hashchange', followAddress);
followAddress();
