import { type Endpoint, readModelGroup, resolveEndpoint } from '../../models/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import {
  type Diagnosis,
  failed,
  passed,
  probeTimeoutMs,
  skipped,
  warning,
  wordsOf,
} from './diagnosis.ts';

/** The diagnosis, and the clock skew against the server. */
export interface ModelDiagnosis {
  readonly diagnosis: Diagnosis;
  readonly skewMs?: number;
  readonly server?: string;
}

/** Checks every model of the project: whether its endpoint is reachable, accepts the key, and has the model. */
export async function examineModels(
  groups: ReadonlyMap<string, JsonObject>,
  environment: NodeJS.ProcessEnv,
): Promise<readonly ModelDiagnosis[]> {
  if (groups.size === 0) return [{ diagnosis: skipped('Model', 'no model is configured') }];
  const found: ModelDiagnosis[] = [];
  for (const [id, value] of groups) {
    try {
      for (const config of readModelGroup({ id, ...value }).models) {
        const endpoint = resolveEndpoint(config, `model group "${id}"`, environment);
        found.push(await examineModel(id, endpoint));
      }
    } catch (error) {
      const fix = 'fix model_groups in endpoints.yml';
      found.push({ diagnosis: failed(`Model ${id}`, wordsOf(error), fix) });
    }
  }
  return found;
}

async function examineModel(id: string, endpoint: Endpoint): Promise<ModelDiagnosis> {
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
    const fix = 'check api_base, the network and proxies; a local model must be running';
    return { diagnosis: failed(what, `${server}: ${wordsOf(error)}`, fix) };
  }
  const date = Date.parse(response.headers.get('Date') ?? '');
  const told = Number.isNaN(date) ? {} : { skewMs: Date.now() - date, server };
  return { diagnosis: await judge(what, server, modelId, response), ...told };
}

async function judge(
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

async function namesOf(response: Response): Promise<readonly string[]> {
  const body = (await response.json().catch(() => undefined)) as
    | { readonly data?: readonly { readonly id?: unknown }[] }
    | undefined;
  if (!Array.isArray(body?.data)) return [];
  return body.data.flatMap(({ id }: { readonly id?: unknown }) =>
    typeof id === 'string' ? [id] : [],
  );
}
