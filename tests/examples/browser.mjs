// The page in real Chromium. Prints one JSON line a check: its name and, where it failed, what was seen.
// usage: node browser.mjs URL FIXTURES [CHECK]
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch, open, put } from './chromium.mjs';

const [url, fixtures, only] = process.argv.slice(2);
const browser = await launch();
const seen = [];

/** Runs one check on a page of its own; in each, nothing foreign is asked for and no policy is violated. */
async function check(name, run, options) {
  if (only && !name.includes(only)) return;
  let problem = null;
  try {
    const { page, context, log } = await open(browser, url, options);
    await run(page, log);
    if (log.foreign.length) throw new Error(`asked for ${log.foreign}`);
    if (log.violations.length) throw new Error(`policy: ${log.violations}`);
    if (log.errors.length) throw new Error(`errors: ${log.errors}`);
    await context.close();
  } catch (error) {
    problem = String(error?.stack ?? error).slice(0, 1500);
  }
  seen.push(problem);
  console.log(JSON.stringify({ name, problem }));
}

function equal(found, wanted, what) {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`${what}: found ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`);
}

const fixture = (name) => readFile(join(fixtures, `${name}.sse`));
const delta = (content) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;

await check('all vectors pass in the page', async (page) => {
  await page.locator('#run-vectors').click();
  await page.waitForSelector('#vector-status[data-failed]', { timeout: 240_000 });
  const status = await page.locator('#vector-status').evaluate((node) => ({ ...node.dataset, text: node.textContent }));
  const bad = await page.locator('#vectors li.bad').allTextContents();
  if (status.failed !== '0' || bad.length) throw new Error(`${status.text} ${bad.slice(0, 5)}`);
  const list = await page.evaluate(() => fetch('vectors/index.json').then((reply) => reply.json()));
  equal(Number(status.count), list.length, 'vectors run');
  if (list.length < 100) throw new Error(`only ${list.length} vectors`);
  console.error(status.text);
});

await check('citation chips jump to their source and back', async (page) => {
  await put(page, 'citations.sse', await fixture('citations'));
  const expected = JSON.parse(await readFile(join(fixtures, 'citations.json'), 'utf8'));
  equal(await page.locator('#sources > li').count(), expected.sources.length, 'sources');
  const marks = await page.locator('#answer .chip').allTextContents();
  equal(marks.length, (expected.answer.match(/\[\d+\]/g) ?? []).length, 'chips');
  await page.locator('#answer .chip').nth(2).click();
  equal(await page.evaluate(() => document.activeElement.id), `source-${marks[2]}`, 'focus');
  await page.locator('#source-1 summary').click();
  await page.waitForSelector('#source-1 blockquote');
  equal(await page.locator('#source-1 blockquote').allTextContents(), expected.sources[0].snippets, 'passages');
  await page.locator('#source-2 .meta button').click();
  equal(await page.evaluate(() => document.activeElement.id), 'mark-2', 'focus');
  equal(await page.locator('#total').textContent(), '$0.047875', 'cost');
});

await check('a research is told by iteration', async (page) => {
  await put(page, 'research-3.sse', await fixture('research-3'));
  const expected = JSON.parse(await readFile(join(fixtures, 'research-3.json'), 'utf8'));
  equal(await page.locator('#timeline h3').allTextContents(), expected.progress.map((frame) => `Iteration ${frame.iteration}`), 'iterations');
  equal(await page.locator('#blindspots li').allTextContents(), expected.blindspots, 'blindspots');
  equal(await page.locator('#answer a:not(.chip)').evaluateAll((links) => links.map((link) => link.href)), expected.sources.filter((source) => source.cited).map((source) => source.url), 'links');
  if (!(await page.locator('#chart .columns-chart rect').count())) throw new Error('no chart');
});

await check('the raw list has every event, its offset and its bytes', async (page) => {
  const bytes = await fixture('citations');
  await put(page, 'citations.sse', bytes);
  await page.waitForFunction(() => document.querySelectorAll('#events tr').length > 5);
  const offsets = await page.locator('#events tr td:nth-child(2)').allTextContents();
  const text = bytes.toString('utf8');
  for (const shown of offsets) {
    const at = Number(shown.replaceAll(',', ''));
    if (bytes.subarray(at - 2, at).toString() !== '\n\n') throw new Error(`offset ${at} is no end of an event`);
  }
  await page.locator('#events tr').filter({ hasText: 'citation' }).first().locator('button').click();
  await page.waitForSelector('#raw[open]');
  const raw = await page.locator('#raw-bytes').textContent();
  if (!raw.startsWith('data: ') || !raw.includes('<citation>') || !text.includes(raw)) throw new Error(raw);
  await page.keyboard.press('Escape');
  await page.locator('#filter input[value="text"]').uncheck();
  await page.waitForFunction(() => ![...document.querySelectorAll('#events .kind')].some((kind) => kind.textContent === 'text'));
});

await check('drag and drop, and paste', async (page) => {
  const text = (await fixture('plain')).toString('utf8');
  const transfer = await page.evaluateHandle((content) => {
    const data = new DataTransfer();
    data.items.add(new File([content], 'dropped.sse'));
    return data;
  }, text);
  await page.dispatchEvent('body', 'dragenter', { dataTransfer: transfer });
  equal(await page.locator('#veil').evaluate((node) => node.classList.contains('on')), true, 'veil');
  await page.dispatchEvent('#drop', 'drop', { dataTransfer: transfer });
  await page.waitForFunction(() => document.getElementById('bytes').textContent.startsWith('dropped.sse') && document.getElementById('status').textContent.startsWith('Complete'));
  equal(await page.locator('#veil').evaluate((node) => node.classList.contains('on')), false, 'veil');
  await page.evaluate((content) => {
    const data = new DataTransfer();
    data.setData('text/plain', content);
    document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }));
  }, text);
  await page.waitForFunction(() => document.getElementById('bytes').textContent.startsWith('pasted text') && document.getElementById('status').textContent.startsWith('Complete'));
  const expected = JSON.parse(await readFile(join(fixtures, 'plain.json'), 'utf8'));
  equal((await page.locator('#answer').innerText()).replace(/\s+/g, ' ').trim(), expected.text.replace(/\s+/g, ' ').trim(), 'answer');
});

await check('a bundled stream plays at its own pace, and can be sent to its end', async (page) => {
  await page.locator('#speed').selectOption('1');
  await page.locator('#bundled').selectOption('research-3');
  await page.waitForFunction(() => document.getElementById('play').textContent === 'Pause');
  // Its first iteration ended after 11.25 s: at real speed there is no answer yet.
  await page.waitForFunction(() => document.querySelectorAll('#timeline .asked-list li').length > 0, undefined, { timeout: 30_000 });
  if (await page.locator('#answer a').count()) throw new Error('it did not wait');
  await page.locator('#play').click();
  equal(await page.locator('#play').textContent(), 'Play', 'button');
  await page.locator('#all').click();
  await page.waitForFunction(() => document.getElementById('status').textContent.startsWith('Complete'));
  equal(await page.locator('#play').textContent(), 'Play again', 'button');
});

const HOSTILE = [
  '<img src=x onerror="window.pwned=1"> <script>window.pwned=1</script> <svg onload="window.pwned=1"> <iframe src="https://evil.example/">\n\n',
  '[click](javascript:window.pwned=1) [data](data:text/html,<script>1</script>) [vb](vbscript:x) <javascript:window.pwned=1> [ok](https://example.org/fine)\n\n',
  '![pixel](https://evil.example/pixel.png) [x](https://evil.example/"onmouseover="window.pwned=1)\n\n',
  '<a href="javascript:window.pwned=1">raw</a> <style>body{display:none}</style> <base href="https://evil.example/"> <form action="https://evil.example/"><button>go</button></form>\n\n',
  '| <b>a</b> | `<i>` |\n|---|---|\n| <img src=x onerror=window.pwned=1> | [t](JaVaScRiPt:window.pwned=1) |\n\n',
  '<citation>{"start_index":0,"end_index":0,"number":1,"url":"https://example.org/\\"><img src=x onerror=window.pwned=1>","snippet":"<img src=x onerror=window.pwned=1>"}</citation>',
  '<citation>{"start_index":0,"end_index":0,"number":2,"url":"javascript:window.pwned=1","snippet":"x"}</citation>',
  '<enum_item>{"name":"<img src=x onerror=window.pwned=1>","href":"javascript:window.pwned=1","original_tokens":"<b>e</b>"}</enum_item>',
  '<blindspots>["<img src=x onerror=window.pwned=1>"]</blindspots>\uE0009\uE001',
];

await check('hostile HTML and javascript: links stay inert', async (page) => {
  for (const mode of ['answer', 'research']) {
    const body = HOSTILE.map(delta).join('') + (mode === 'research' ? delta(`<answer>${JSON.stringify({ answer: HOSTILE.slice(0, 5).join('') })}</answer>`) : '') + 'data: [DONE]\n\n';
    await page.locator('#mode').selectOption(mode);
    await put(page, `hostile-${mode}.sse`, body);
    const state = await page.evaluate(() => {
      const parts = ['answer', 'sources', 'entities', 'draft', 'blindspots', 'warnings', 'events', 'timeline'].map((id) => document.getElementById(id));
      const all = (selector) => parts.flatMap((part) => [...part.querySelectorAll(selector)]);
      return {
        pwned: globalThis.pwned ?? null,
        elements: all('img, script, iframe, style, base, form, object, embed, link, meta').map((node) => node.outerHTML),
        handlers: all('*').filter((node) => node.getAttributeNames().some((name) => name.startsWith('on'))).map((node) => node.outerHTML),
        links: all('a[href]').map((node) => node.href).filter((href) => !/^https?:/.test(href)),
        shown: document.getElementById('answer').textContent,
        visible: getComputedStyle(document.body).display,
      };
    });
    equal([state.pwned, state.elements, state.handlers, state.links, state.visible], [null, [], [], [], 'block'], mode);
    if (!state.shown.includes('<img src=x onerror=')) throw new Error('the text itself is missing');
    for (const link of await page.locator('#answer .inert').all()) await link.click({ force: true });
    equal(await page.evaluate(() => globalThis.pwned ?? null), null, 'after clicks');
  }
});

const LONG = 50_000_000;

/** 50 MB of prose, citations, research tags and noise. */
function longStream() {
  const parts = [];
  let size = 0;
  for (let round = 0; size < LONG; round += 1) {
    const part = delta(`Sentence **${round}** of a very long answer, with [a link](https://example.org/${round % 97}). `)
      + (round % 7 === 0 ? delta(`<citation>{"start_index":${round},"end_index":${round},"number":${round % 500},"url":"https://example.org/${round % 500}","snippet":"passage ${round}"}</citation>`) : '')
      + (round % 50 === 0 ? `: ${'keepalive '.repeat(40)}\n\n` : '');
    parts.push(part);
    size += part.length;
  }
  return `${parts.join('')}${delta('<usage>{"X-Request-Total-Cost":1.5,"X-Request-Tokens-In":5,"X-Request-Tokens-Out":6}</usage>')}data: [DONE]\n\n`;
}

await check('50 MB do not freeze the page', async (page) => {
  const folder = await mkdtemp(join(tmpdir(), 'glovebox-browser-'));
  const path = join(folder, 'long.sse');
  await writeFile(path, longStream());
  await page.evaluate(() => {
    globalThis.watch = { frames: 0, worst: 0, long: 0 };
    let last = performance.now();
    const beat = (now) => {
      watch.frames += 1;
      watch.worst = Math.max(watch.worst, now - last);
      last = now;
      requestAnimationFrame(beat);
    };
    requestAnimationFrame(beat);
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) watch.long = Math.max(watch.long, entry.duration);
    }).observe({ type: 'longtask' });
  });
  await page.locator('#file').setInputFiles(path);
  await page.waitForFunction(() => document.getElementById('bytes').textContent.startsWith('long.sse'), undefined, { timeout: 60_000 });
  // The page answers while it reads.
  equal(await page.locator('#note').isVisible(), true, 'what is off is explained');
  await page.locator('#theme').click({ timeout: 5_000 });
  equal(await page.locator('#theme').textContent(), 'Theme: light', 'theme');
  await page.waitForFunction(() => /^(Complete|Failed)/.test(document.getElementById('status').textContent), undefined, { timeout: 240_000 });
  const { watch, status } = await page.evaluate(() => ({ watch: globalThis.watch, status: document.getElementById('status').textContent }));
  console.error(status, JSON.stringify(watch));
  if (!status.startsWith('Complete')) throw new Error(status);
  if (watch.frames < 20) throw new Error(`only ${watch.frames} frames`);
  if (watch.long > 1_000) throw new Error(`a task of ${watch.long} ms on the main thread`);
});

await check('the keyboard reaches everything, and the names are there', async (page) => {
  await put(page, 'citations.sse', await fixture('citations'));
  await page.locator('body').press('Tab');
  equal(await page.evaluate(() => document.activeElement.className), 'skip', 'first stop');
  await page.keyboard.press('Enter');
  equal(await page.evaluate(() => document.activeElement.id), 'answer-title', 'skip link');
  await page.keyboard.press('Tab');
  equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Source 1', 'first chip');
  await page.keyboard.press('Enter');
  equal(await page.evaluate(() => document.activeElement.id), 'source-1', 'source');
  const nameless = await page.evaluate(() => [...document.querySelectorAll('button, select, input, a[href], svg[role="img"], progress')].filter((node) => {
    const label = node.getAttribute('aria-label') || node.textContent.trim() || node.labels?.[0]?.textContent.trim();
    return !label;
  }).map((node) => node.outerHTML.slice(0, 120)));
  equal(nameless, [], 'without a name');
});

for (const width of [390, 820, 1440]) {
  await check(`nothing is cut off at a width of ${width}`, async (page) => {
    await put(page, 'research-3.sse', await fixture('research-3'));
    const { scroll, client } = await page.evaluate(() => ({ scroll: document.documentElement.scrollWidth, client: document.documentElement.clientWidth }));
    if (scroll > client) throw new Error(`${scroll} wide in a window of ${client}`);
  }, { viewport: { width, height: 900 } });
}

await check('what is no stream is named, and looks like a failure', async (page) => {
  for (const [name, content, wanted] of [
    ['notes.txt', 'Dear diary,\ntoday I read a stream.\n', 'notes.txt is not a captured Brave Answers stream'],
    ['page.html', '<!doctype html><title>502</title>', 'page.html is not a captured Brave Answers stream'],
    ['picture.png', Buffer.from([137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13]), 'picture.png is not a captured Brave Answers stream'],
    ['empty.sse', '', 'empty.sse is empty'],
  ]) {
    await page.locator('#file').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(content) });
    await page.waitForFunction((text) => document.getElementById('status').textContent.startsWith(text), wanted, { timeout: 20_000 });
    equal(await page.locator('#status').getAttribute('class'), 'status bad', name);
  }
  await put(page, 'error-midstream.sse', await fixture('error-midstream'));
  equal(await page.locator('#status').getAttribute('class'), 'status bad', 'a failure');
  await put(page, 'citations.sse', await fixture('citations'));
  equal(await page.locator('#status').getAttribute('class'), 'status ', 'a success');
});

await check('only the panels of the mode are shown, and the drop box folds', async (page) => {
  const shown = () => page.evaluate(() => [...document.querySelectorAll('main .panel')].filter((node) => node.checkVisibility()).map((node) => node.querySelector('h2').id));
  equal(await shown(), ['vectors-title'], 'before a stream');
  const groups = await page.locator('#bundled optgroup').evaluateAll((nodes) => nodes.map((node) => node.label));
  equal(groups, ['Examples', 'Test vectors'], 'groups');
  equal(await page.locator('#bundled optgroup[label="Examples"] option').count(), 5, 'examples');
  const open = await page.locator('#drop').evaluate((node) => node.getBoundingClientRect().height);
  await put(page, 'citations.sse', await fixture('citations'));
  const folded = await page.locator('#drop').evaluate((node) => node.getBoundingClientRect().height);
  if (folded > open * 0.7) throw new Error(`the box is ${folded} high, it was ${open}`);
  equal(await shown(), ['answer-title', 'sources-title', 'cost-title', 'events-title', 'vectors-title'], 'an answer');
  await put(page, 'research-3.sse', await fixture('research-3'));
  equal((await shown()).includes('timeline-title'), true, 'a research');
});

const AXE = await readFile(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
for (const width of [390, 1280]) {
  for (const colorScheme of ['light', 'dark']) {
    await check(`axe has nothing to say at ${width} px, ${colorScheme}`, async (page) => {
      const violations = async (state) => {
        await page.evaluate(AXE);
        const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
        const brief = found.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 150)).join(' | ')}`);
        equal(brief, [], state);
        const { scroll, client } = await page.evaluate(() => ({ scroll: document.documentElement.scrollWidth, client: document.documentElement.clientWidth }));
        if (scroll > client) throw new Error(`${state}: ${scroll} wide in a window of ${client}`);
      };
      await violations('at the start');
      for (const name of ['citations', 'research-3', 'entities', 'code', 'error-midstream']) {
        await put(page, `${name}.sse`, await fixture(name));
        await violations(name);
      }
      await page.locator('#file').setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('no stream') });
      await page.waitForSelector('#status.bad');
      await violations('a file that is no stream');
    }, { viewport: { width, height: 900 }, colorScheme });
  }
}

await check('it works without a network once it is loaded', async (page) => {
  await page.context().setOffline(true);
  await put(page, 'citations.sse', await fixture('citations'));
  equal(await page.locator('#sources > li').count(), 4, 'sources');
});

await browser.close();
process.exit(seen.some(Boolean) ? 1 : 0);
