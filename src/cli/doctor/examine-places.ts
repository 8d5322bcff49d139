import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { smallSkewMs, storeStatus, type StoreOptions } from '../../store/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import { within } from '../../time/index.ts';
import { openConfiguredBus, readEndpoints } from '../endpoints.ts';
import {
  type Diagnosis,
  failed,
  passed,
  skipped,
  timeLimit,
  warning,
  wordsOf,
} from './diagnosis.ts';

const mebibyte = 1024 * 1024;
/** Warns below this free space. */
const littleSpace = 100 * mebibyte;

/** The store: whether it is reachable, intact, and migrated. */
export async function examineStore(store: StoreOptions): Promise<Diagnosis> {
  if (store.type === 'memory') {
    return warning(
      'Store',
      'in memory: everything is lost when the server stops',
      'keep it: store: {type: sqlite, path: .legate/store.db} in endpoints.yml',
    );
  }
  return store.type === 'sqlite' ? examineFile(store.path) : examineDatabase(store.url);
}

async function examineFile(path: string): Promise<Diagnosis> {
  const folder = existing(dirname(path));
  try {
    accessSync(existsSync(path) ? path : folder, constants.R_OK | constants.W_OK);
  } catch {
    const fix = `make it writable for this user ("chown"), or set another store.path`;
    return failed('Store', `${path} cannot be written`, fix);
  }
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize < littleSpace) {
    const left = Math.round((bavail * bsize) / mebibyte);
    return failed(
      'Store',
      `${left} MiB are free on the disk of ${path}`,
      'free some space, or set another store.path',
    );
  }
  if (!existsSync(path)) return passed('Store', `${path} will be created`);
  const problem = await fileProblem(path);
  if (problem === undefined) {
    return passed('Store', `${path}, ${Math.ceil(statSync(path).size / 1024)} KiB, whole`);
  }
  return failed('Store', `${path}: ${problem}`, 'restore a backup, or move the file away');
}

/** Reads without a lock, so as not to disturb a running server. */
async function fileProblem(path: string): Promise<string | undefined> {
  const { DatabaseSync } = await import('node:sqlite');
  try {
    const database = new DatabaseSync(path, { readOnly: true });
    try {
      const row = database.prepare('PRAGMA quick_check(1)').get();
      const answer = Object.values(row ?? {})[0];
      return answer === 'ok' ? undefined : String(answer);
    } finally {
      database.close();
    }
  } catch (error) {
    return wordsOf(error);
  }
}

function existing(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : existing(dirname(folder));
}

async function examineDatabase(url: string): Promise<Diagnosis> {
  try {
    const { current, latest, pending, skewMs } = await within(timeLimit, () => storeStatus(url));
    if (pending.length === 0 && Math.abs(skewMs) > smallSkewMs) {
      const seconds = (Math.abs(skewMs) / 1000).toFixed(1);
      return warning(
        'Store',
        `the clock of this machine is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} that of PostgreSQL`,
        'set the clock, and synchronize it with NTP ("timedatectl set-ntp true")',
      );
    }
    if (pending.length === 0) return passed('Store', `PostgreSQL, schema version ${current}`);
    const found = `PostgreSQL has schema version ${current} of ${latest}`;
    return current === 0
      ? passed('Store', `${found}: the server migrates it when it starts`)
      : failed('Store', found, 'migrate it: legate db migrate');
  } catch (error) {
    const fix = 'check store.url (DATABASE_URL), and that the database runs and accepts this user';
    return failed('Store', `PostgreSQL: ${wordsOf(error)}`, fix);
  }
}

/** The broker, if one is configured. */
export async function examineBroker(
  directory: string,
  endpoints: string | undefined,
): Promise<Diagnosis> {
  try {
    const place = await readEndpoints(directory, endpoints === undefined ? {} : { endpoints });
    if (place.bus === undefined) return skipped('Broker', 'no bus is configured');
    if (place.bus['type'] === 'memory') return passed('Broker', 'in memory');
    const bus = await within(timeLimit, () => openConfiguredBus(place, { logger: silentLogger }));
    await bus.close();
    return passed('Broker', 'reached');
  } catch (error) {
    const fix = 'check bus.url (AMQP_URL), and that RabbitMQ runs and accepts this user';
    return failed('Broker', wordsOf(error), fix);
  }
}
