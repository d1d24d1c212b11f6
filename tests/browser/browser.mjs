/*
 * browser.mjs - Debian's Chromium through playwright-core, with a fresh profile (a temporary
 * one that goes with it); each view is a context of its own.
 */
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

export const CHROMIUM = process.env.SB_CHROMIUM ?? '/usr/bin/chromium';
export const haveChromium = existsSync(CHROMIUM);

const FLAGS = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

let browser = null;

/** {page, context, close}. `options` are those of a browser context. */
export async function openBrowser(options = {}) {
  browser ??= await chromium.launch({ executablePath: CHROMIUM, headless: true, args: FLAGS });
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  return { context, page: await context.newPage(), close: () => context.close() };
}

export async function closeBrowser() {
  await browser?.close();
  browser = null;
}
