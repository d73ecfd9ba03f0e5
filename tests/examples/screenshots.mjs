// Pictures of the page at three widths and in both themes. usage: node screenshots.mjs URL FOLDER [STREAM…]
import { readFile } from 'node:fs/promises';
import { launch, open, put } from './chromium.mjs';

const [url, folder, ...streams] = process.argv.slice(2);
const browser = await launch();
for (const path of streams) {
  const name = path.split('/').at(-1);
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [390, 820, 1440]) {
      const { page, context, log } = await open(browser, url, { viewport: { width, height: 1000 }, colorScheme });
      await put(page, name, await readFile(path));
      await page.waitForTimeout(300);
      await page.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png`, fullPage: true });
      if (log.errors.length || log.violations.length) console.error(name, log);
      await context.close();
    }
  }
}
await browser.close();
