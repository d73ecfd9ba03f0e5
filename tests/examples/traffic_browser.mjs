// The page of captured traffic in real Chromium. Prints one JSON line a check: its name and, where it failed, what was seen.
// usage: node traffic_browser.mjs URL FIXTURES
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { launch, open } from './chromium.mjs';

const [url, fixtures] = process.argv.slice(2);
const browser = await launch();
let failed = false;

/** Runs one check on a page of its own; in each, nothing foreign is asked for and no policy is violated. */
async function check(name, run) {
  let problem = null;
  try {
    const { page, context, log } = await open(browser, `${url}traffic.html`);
    // Once the page is loaded, what is put into it causes no request at all.
    const requests = [];
    context.on('request', (request) => requests.push(request.url()));
    await run(page, requests);
    for (const [what, list] of Object.entries(log)) if (list.length) throw new Error(`${what}: ${list}`);
    await context.close();
  } catch (error) {
    problem = String(error?.stack ?? error).slice(0, 1500);
  }
  failed ||= problem !== null;
  console.log(JSON.stringify({ name, problem }));
}

function equal(found, wanted, what) {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`${what}: found ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`);
}

/** Puts a file in and waits until it is read. */
async function put(page, name, content, ends = /^Complete/) {
  await page.locator('#file').setInputFiles({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) });
  await page.waitForFunction(([wanted, text]) => document.getElementById('bytes').textContent.startsWith(wanted) && new RegExp(text).test(document.getElementById('status').textContent), [`${name} ·`, ends.source]);
}

const sample = (name) => readFile(join(fixtures, name));
const SECRET = 'zq8Xw3rT5yU7iO9pL1kJ';

/** A HAR with a secret in a query, a cookie and a body, and markup where text is expected. */
const hostile = JSON.stringify({ log: { version: '1.2', creator: { name: 'test', version: '1' }, entries: [{
  startedDateTime: '2026-01-01T00:00:00Z',
  request: { method: 'GET', url: `https://a.example/<img src=x onerror=pwned=1>?access_token=${SECRET}`, headers: [{ name: 'Cookie', value: `sid=${SECRET}` }] },
  response: { status: 200, headers: [{ name: 'Content-Type', value: 'text/html' }], content: { mimeType: 'text/html', text: `<script>pwned=1</script><p>${SECRET}</p>` } },
}] } });

await check('all vectors pass in the page', async (page) => {
  await page.locator('#run-vectors').click();
  await page.waitForSelector('#vector-status[data-failed]', { timeout: 240_000 });
  const status = await page.locator('#vector-status').evaluate((node) => ({ ...node.dataset, text: node.textContent }));
  const bad = await page.locator('#vectors li.bad').evaluateAll((nodes) => nodes.map((node) => `${node.textContent}: ${node.title}`));
  if (status.failed !== '0' || bad.length) throw new Error(`${status.text} ${bad.slice(0, 5)}`);
  if (Number(status.count) < 100) throw new Error(`only ${status.count} vectors`);
});

await check('a HAR and a Burp file are shown', async (page, requests) => {
  for (const [name, rows, text] of [['har-chrome.har', 4, 'https://shop.example/cart'], ['burp-base64.xml', 3, 'https://shop.example/login']]) {
    await put(page, name, await sample(name));
    equal(await page.locator('#exchanges tr').count(), rows, `${name}: rows`);
    equal(await page.locator('#exchange-count').textContent(), String(rows), `${name}: count`);
    if (!(await page.locator('#exchanges').textContent()).includes(text)) throw new Error(`${name}: no ${text}`);
    if (!(await page.locator('#findings li').count())) throw new Error(`${name}: no findings`);
    if (!(await page.locator('#redacted li').count())) throw new Error(`${name}: nothing redacted`);
  }
  equal(requests, [], 'requests');
});

await check('an exchange is shown as a model would see it, and no byte leaves', async (page, requests) => {
  await put(page, 'hostile.har', hostile);
  await page.locator('#exchanges button').first().click();
  await page.waitForSelector('#exchange:not([hidden])');
  for (const mode of ['balanced', 'strict']) {
    await page.locator('#redaction').selectOption(mode);
    await put(page, 'hostile.har', hostile);
    await page.locator('#exchanges button').first().click();
    await page.waitForSelector('#exchange:not([hidden])');
    const shown = await page.locator('main').textContent();
    if (shown.includes(SECRET)) throw new Error(`${mode}: the secret is shown`);
    equal(await page.locator('#exchange mark').count() >= 2, true, `${mode}: placeholders`);
    equal(shown.includes('a.example'), mode === 'balanced', `${mode}: host`);
  }
  await page.locator('#redaction').selectOption('off');
  await put(page, 'hostile.har', hostile);
  await page.locator('#exchanges button').first().click();
  await page.waitForSelector('#exchange:not([hidden])');
  const shown = await page.locator('#exchange').textContent();
  if (!shown.includes(SECRET) || !shown.includes('<script>')) throw new Error(`off: ${shown}`);
  equal(await page.evaluate(() => [globalThis.pwned ?? null, document.querySelectorAll('main img, main script').length]), [null, 0], 'markup');
  equal(requests, [], 'requests');
});

await check('a file that is no traffic says so', async (page, requests) => {
  for (const [name, says] of [['burp-issues.xml', /scanner issues/], ['report.html', /HTML page/], ['har-truncated.har', /ends before its proper end/]]) {
    await page.locator('#file').setInputFiles({ name, mimeType: 'application/octet-stream', buffer: await sample(name) });
    await page.waitForFunction((text) => new RegExp(text).test(document.getElementById('status').textContent), says.source);
  }
  equal(requests, [], 'requests');
});

await check('a file of 64 MB does not freeze the page', async (page, requests) => {
  await page.evaluate(async () => {
    const row = '<p>the quick brown fox jumps over the lazy dogs</p>\\n'.repeat(600);
    const entry = (number) => `${number ? ',' : ''}{"request":{"method":"GET","url":"https://a.example/${number}","headers":[]},"response":{"status":200,"headers":[],"content":{"mimeType":"text/html","text":"${row}"}}}`;
    const parts = ['{"log":{"version":"1.2","entries":['];
    for (let number = 0, bytes = 0; bytes < 64e6; number += 1) {
      parts.push(entry(number));
      bytes += parts.at(-1).length;
    }
    parts.push(']}}');
    globalThis.frames_ = 0;
    const beat = () => {
      globalThis.frames_ += 1;
      requestAnimationFrame(beat);
    };
    requestAnimationFrame(beat);
    const data = new DataTransfer();
    data.items.add(new File(parts, 'large.har'));
    document.getElementById('drop').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
  });
  await page.waitForFunction(() => document.getElementById('exchanges').children.length > 0, undefined, { timeout: 60_000 });
  // It answers while it reads.
  await page.locator('#theme').click({ timeout: 5_000 });
  await page.waitForFunction(() => /^Complete/.test(document.getElementById('status').textContent), undefined, { timeout: 240_000 });
  if ((await page.evaluate(() => globalThis.frames_)) < 20) throw new Error('the page stood still');
  equal(requests, [], 'requests');
});

await browser.close();
process.exit(failed ? 1 : 0);
