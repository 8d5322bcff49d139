/**
 * Checks what `deploy/` ships, without a container daemon and without a cluster:
 * - the steps of the Dockerfile are executed in a temporary folder, and the result answers at /health;
 * - the Helm chart is linted and rendered with several values, and every object is validated against the
 *   schemas of Kubernetes and of KEDA;
 * - compose.yml is validated against the Compose specification, Prometheus' rules and configuration with
 *   promtool, the dashboard's queries against the metrics.
 * Helm, the schemas and the validator come from the Go module proxy and from PyPI; what this machine can't
 * run is named and makes the run fail, unless `--skip-missing` is given.
 * Usage: npm run deployment [-- --skip-missing]
 */
import { parseArgs } from 'node:util';
import { checkChart } from './deployment/chart.ts';
import { checkCompose } from './deployment/compose.ts';
import { checkImage } from './deployment/image.ts';
import { checkMonitoring } from './deployment/monitoring.ts';
import { MissingToolError } from './deployment/tools.ts';

const { values } = parseArgs({ options: { 'skip-missing': { type: 'boolean', default: false } } });

const checks: readonly (readonly [name: string, check: () => Promise<string>])[] = [
  ['monitoring', checkMonitoring],
  ['compose', checkCompose],
  ['chart', checkChart],
  ['image', checkImage],
];

let passed = 0;
let failed = 0;
let skipped = 0;
for (const [name, check] of checks) {
  try {
    console.log(`${name}: ${await check()}`);
    passed += 1;
  } catch (error) {
    const isSkipped = error instanceof MissingToolError && values['skip-missing'];
    if (isSkipped) skipped += 1;
    else failed += 1;
    console.error(
      `${name}: ${isSkipped ? 'skipped' : 'FAILED'}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
if (failed > 0) process.exitCode = 1;
