/*
 * browser.mjs - Debian's Chromium through playwright-core, each time with a fresh profile.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

export const CHROMIUM = process.env.SB_CHROMIUM ?? '/usr/bin/chromium';
export const haveChromium = existsSync(CHROMIUM);

const FLAGS = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** {page, context, close}. `options` are those of a browser context. */
export async function openBrowser(options = {}) {
  const profile = mkdtempSync(join(tmpdir(), 'sb-browser-'));
  const context = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, headless: true,
    args: FLAGS, viewport: { width: 1200, height: 800 }, ...options });
  return {
    context,
    page: context.pages()[0] ?? await context.newPage(),
    close: async () => {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}
