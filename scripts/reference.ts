/**
 * Writes docs/reference from the code: `npm run reference`. A test fails when a page is not what this
 * would write, and when the code has a key, a flag, a metric or an error that nobody describes.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { referencePages } from './reference/pages.ts';

const folder = join(import.meta.dirname, '../docs/reference');
mkdirSync(folder, { recursive: true });
for (const [name, text] of await referencePages()) writeFileSync(join(folder, name), text);
