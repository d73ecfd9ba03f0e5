// The picture of the page in the README. usage: node picture.mjs URL STREAM OUT.png
import { readFile } from 'node:fs/promises';
import { launch, open, put } from './chromium.mjs';

const [url, stream, out] = process.argv.slice(2);
const browser = await launch();
const { page } = await open(browser, url, { viewport: { width: 1280, height: 1060 }, colorScheme: 'light' });
await put(page, stream.split('/').at(-1), await readFile(stream));
await page.screenshot({ path: out });
await browser.close();
