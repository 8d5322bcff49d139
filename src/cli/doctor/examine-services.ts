import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { TelemetrySettings } from '../../config/index.ts';
import { type Endpoint, modelFetch, readModelGroup, resolveEndpoint } from '../../models/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import { smallSkewMs, storeStatus, type StoreOptions } from '../../store/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import { within } from '../../time/index.ts';
import { type Endpoints, openConfiguredBus } from '../endpoints.ts';
import {
  type Diagnosis,
  failed,
  passed,
  probeTimeoutMs,
  skipped,
  timeLimit,
  warning,
  reasonOf,
} from './diagnosis.ts';

type OtlpSettings = NonNullable<TelemetrySettings['otlp']>;

const mebibyte = 1024 * 1024;
/** The check fails below this free disk space. */
const minFreeBytes = 100 * mebibyte;

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
  if (bavail * bsize < minFreeBytes) {
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

/** Checks a store file without a lock, so that a running server is not disturbed. */
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
    return reasonOf(error);
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
    return failed('Store', `PostgreSQL: ${reasonOf(error)}`, fix);
  }
}

/** The broker, if one is configured. */
export async function examineBroker(endpoints: Endpoints): Promise<Diagnosis> {
  if (endpoints.bus === undefined) return skipped('Broker', 'no bus is configured');
  if (endpoints.bus['type'] === 'memory') return passed('Broker', 'in memory');
  try {
    const bus = await within(timeLimit, () =>
      openConfiguredBus(endpoints, {
        logger: silentLogger,
        connectionName: 'legate doctor',
        // Shorter than the time limit, so that the error has the reason.
        connectTimeout: probeTimeoutMs / 2_000,
      }),
    );
    await bus.close();
    return passed('Broker', 'reached');
  } catch (error) {
    const fix = 'check bus.url (AMQP_URL), and that RabbitMQ runs and accepts this user';
    return failed('Broker', reasonOf(error), fix);
  }
}

/** Sends an empty export to the collector of `telemetry.otlp`. */
export async function examineOtlp(otlp: OtlpSettings | undefined): Promise<Diagnosis> {
  const what = 'OTLP endpoint';
  if (otlp === undefined) return skipped(what, 'no telemetry.otlp is configured');
  const isTraces = otlp.traces !== false;
  const base = otlp.endpoint.replace(/\/$/, '');
  const url = `${base}${isTraces ? '/v1/traces' : '/v1/metrics'}`;
  try {
    const { ok, status } = await fetch(url, {
      method: 'POST',
      headers: { ...otlp.headers, 'content-type': 'application/json' },
      body: JSON.stringify(isTraces ? { resourceSpans: [] } : { resourceMetrics: [] }),
      signal: AbortSignal.timeout(probeTimeoutMs),
    });
    if (ok) return passed(what, `${new URL(url).origin} accepts exports`);
    const fix =
      status === 401 || status === 403
        ? 'set the credential in telemetry.otlp.headers'
        : 'check telemetry.otlp.endpoint: the base URL of OTLP over HTTP, usually port 4318';
    return failed(what, `${new URL(url).origin} answers ${status}`, fix);
  } catch (error) {
    const fix = 'check telemetry.otlp.endpoint, and that the collector runs';
    return failed(what, `${new URL(url).origin}: ${reasonOf(error)}`, fix);
  }
}

/** The diagnosis, and the clock skew against the server. */
export interface ModelDiagnosis {
  readonly diagnosis: Diagnosis;
  readonly skewMs?: number;
  readonly server?: string;
}

/** Checks every model of the project: whether its endpoint is reachable, accepts the key, and has the model. */
export async function examineModels(
  groups: ReadonlyMap<string, JsonObject>,
  {
    environment,
    directory,
  }: { readonly environment: NodeJS.ProcessEnv; readonly directory: string },
): Promise<readonly ModelDiagnosis[]> {
  if (groups.size === 0) return [{ diagnosis: skipped('Model', 'no model is configured') }];
  const found: ModelDiagnosis[] = [];
  for (const [id, value] of groups) {
    try {
      for (const config of readModelGroup({ id, ...value }).models) {
        const endpoint = resolveEndpoint(config, `model group "${id}"`, environment);
        const fetch = modelFetch(config, `model group "${id}"`, {
          directory,
          logger: silentLogger,
        });
        found.push(await examineModel(id, endpoint, fetch));
      }
    } catch (error) {
      const fix = 'set its key, or change model_groups in endpoints.yml';
      found.push({ diagnosis: failed(`Model ${id}`, reasonOf(error), fix) });
    }
  }
  return found;
}

async function examineModel(
  id: string,
  endpoint: Endpoint,
  fetch: typeof globalThis.fetch = globalThis.fetch,
): Promise<ModelDiagnosis> {
  const what = `Model ${id}`;
  const { baseUrl, modelId, apiKey, headers } = endpoint;
  const server = new URL(baseUrl).origin;
  let response: Response;
  try {
    response = await fetch(`${baseUrl}/models`, {
      headers: { ...headers, ...(apiKey !== undefined && { Authorization: `Bearer ${apiKey}` }) },
      signal: AbortSignal.timeout(probeTimeoutMs),
      redirect: 'error',
    });
  } catch (error) {
    const fix = 'check api_base, tls, the network and proxies; a local model must be running';
    return { diagnosis: failed(what, `${server}: ${reasonOf(error)}`, fix) };
  }
  const date = Date.parse(response.headers.get('Date') ?? '');
  const clock = Number.isNaN(date) ? {} : { skewMs: Date.now() - date, server };
  return { diagnosis: await modelDiagnosis(what, server, modelId, response), ...clock };
}

async function modelDiagnosis(
  what: string,
  server: string,
  modelId: string,
  response: Response,
): Promise<Diagnosis> {
  const { status } = response;
  if (status === 401 || status === 403) {
    return failed(what, `${server} rejects the key (${status})`, 'set a valid api_key');
  }
  if (status === 404 || status === 405) {
    const found = `${server} answers, but does not list its models`;
    return warning(what, found, 'if calls fail, check the path of api_base');
  }
  if (!response.ok) {
    return failed(what, `${server} answers ${status}`, 'check the status page of the service');
  }
  const names = await namesOf(response);
  if (names.length === 0 || names.includes(modelId)) return passed(what, `${modelId} at ${server}`);
  return failed(
    what,
    `${server} has no model ${modelId}`,
    `use one that it has: ${names.slice(0, 5).join(', ')}`,
  );
}

const modelList = z.object({ data: z.array(z.object({ id: z.string() })) });

async function namesOf(response: Response): Promise<readonly string[]> {
  const { data } = modelList.safeParse(await response.json().catch(() => undefined));
  return data?.data.map(({ id }) => id) ?? [];
}
