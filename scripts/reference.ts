/**
 * Generates docs/reference, the module graph of ARCHITECTURE.md, and the dashboard of deploy/ from the
 * code: `npm run reference`. A test fails if a file differs from the generated one, or if the code has a
 * key, a flag, a metric or an error without a description.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withModuleGraph } from './reference/modules.ts';
import { monitoringFiles } from './reference/monitoring.ts';
import { referencePages } from './reference/pages.ts';

const folder = join(import.meta.dirname, '../docs/reference');
mkdirSync(folder, { recursive: true });
for (const [name, text] of await referencePages()) writeFileSync(join(folder, name), text);

const architecture = join(import.meta.dirname, '../ARCHITECTURE.md');
writeFileSync(architecture, withModuleGraph(readFileSync(architecture, 'utf8')));

for (const [file, text] of monitoringFiles()) {
  writeFileSync(join(import.meta.dirname, '..', file), text);
}
