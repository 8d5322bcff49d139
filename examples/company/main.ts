/**
 * Starts the whole company on this machine, without containers, checks it, and stops it:
 * `npm run company`. With `--keep` it runs until Ctrl+C.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { checks } from './checks.ts';
import { startCompany } from './company.ts';

const { values } = parseArgs({ options: { keep: { type: 'boolean', default: false } } });
const folder = mkdtempSync(join(tmpdir(), 'legate-company-'));
{
  await using company = await startCompany(folder);
  console.log(`company: ${company.services.size} services are up; logs: ${join(folder, 'logs')}`);
  if (values.keep) {
    console.log(`Gateway: ${company.gatewayUrl}  X-Api-Key: ${company.secrets.CUSTOMER_KEY}`);
    await new Promise((resolve) => process.once('SIGINT', resolve));
  } else {
    for (const check of checks) console.log(`company: ${await check(company)}`);
  }
  // Services that others call stop last.
  for (const service of [...company.services.values()].toReversed()) await service.stop();
}
rmSync(folder, { recursive: true });
console.log('company: every service was shut down');
