// Pictures of the page at two widths and in both themes. usage: node screenshots.mjs URL FOLDER STREAM…
import { mkdir, readFile } from 'node:fs/promises';
import { launch, open, put } from './chromium.mjs';

const [url, folder, ...streams] = process.argv.slice(2);
const browser = await launch();
await mkdir(folder, { recursive: true });
let failed = false;

/** Opens the page, brings it into a state, and takes a picture of all of it. */
async function picture(name, bring) {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [390, 1280]) {
      const { page, context, log } = await open(browser, url, { viewport: { width, height: 900 }, colorScheme });
      await bring(page);
      await page.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png`, fullPage: true });
      if (log.errors.length || log.violations.length) {
        console.error(name, log);
        failed = true;
      }
      await context.close();
    }
  }
}

await picture('start', async () => {});
await picture('no-stream', async (page) => {
  await page.locator('#file').setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('no stream') });
  await page.waitForSelector('#status.bad');
});
for (const path of streams) {
  const name = path.split('/').at(-1);
  await picture(name, async (page) => put(page, name, await readFile(path)));
}
await browser.close();
process.exit(failed ? 1 : 0);
