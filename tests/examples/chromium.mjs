// Starts Debian's Chromium headless, offline by its flags, and collects what a test must not see.
import { chromium } from 'playwright-core';

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
];

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });

/** A page on `url` that has started its component, and a log of what went wrong or went out. */
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 1000 }, ...options });
  const page = await context.newPage();
  const origin = new URL(url).origin;
  const log = { foreign: [], errors: [], violations: [] };
  context.on('request', (request) => {
    const asked = new URL(request.url());
    if (asked.protocol !== 'blob:' && asked.origin !== origin) log.foreign.push(request.url());
  });
  page.on('pageerror', (error) => log.errors.push(String(error)));
  page.on('console', (message) => {
    if (/Content Security Policy|Trusted/i.test(message.text())) log.violations.push(message.text());
    else if (message.type() === 'error') log.errors.push(message.text());
  });
  await page.addInitScript(() => addEventListener('securitypolicyviolation', (event) => console.error(`Content Security Policy: ${event.violatedDirective} ${event.blockedURI}`)));
  await page.goto(url);
  await page.waitForSelector('html[data-ready="yes"]');
  return { page, context, log };
}

/** Puts a file in by the file chooser's input and waits until it is read. */
export async function put(page, name, content, timeout = 60_000) {
  await page.locator('#file').setInputFiles({ name, mimeType: 'text/event-stream', buffer: Buffer.from(content) });
  await page.waitForFunction((wanted) => document.getElementById('bytes').textContent.startsWith(wanted) && /events?, /.test(document.getElementById('status').textContent), `${name} ·`, { timeout });
}
