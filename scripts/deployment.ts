/**
 * Checks the files of `deploy/`, without a container daemon and without a cluster:
 * - executes the steps of the Dockerfile in a temporary folder, and requests /health of the result;
 * - lints the Helm chart, renders it with several values, and validates every object against the schemas
 *   of Kubernetes and of KEDA;
 * - validates compose.yml against the Compose specification, Prometheus' rules and configuration with
 *   promtool, and the dashboard's queries against the metrics.
 * Downloads Helm, the schemas and the validator from the Go module proxy and from PyPI. A check that this
 * machine can't run is named and fails the run, unless `--skip-missing` is given.
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
