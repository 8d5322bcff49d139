import { findTests, type Project, probeServices, usedModelGroups } from '../../assistant/index.ts';
import { callBindings } from '../project-files.ts';
import { type Diagnosis, failed, passed, probeTimeoutMs, skipped, warning } from './diagnosis.ts';
import { examineModels, type ModelDiagnosis } from './examine-services.ts';

/** Checks all services that a project connects to: models, action server, MCP servers and sub agents. */
export async function* examineProject(project: Project): AsyncGenerator<ModelDiagnosis> {
  const { subAgents, endpoints } = project;
  const used = usedModelGroups(project);
  const judges = await judgesOf(project);
  const unusable = new Set<string>();
  const diagnoses = await examineModels(endpoints.modelGroups, {
    environment: process.env,
    directory: project.directory,
  });
  for (const { diagnosis, ...clock } of diagnoses) {
    const id = groupOf(diagnosis);
    if (diagnosis.outcome === 'failed') unusable.add(diagnosis.what);
    const isAsked = used.has(id);
    const by = judges.has(id) ? 'only tests use it' : 'nothing uses it';
    yield { diagnosis: isAsked ? diagnosis : optional(diagnosis, by), ...clock };
  }
  if (endpoints.mcpServers.size === 0) yield nothing('MCP server', 'none is configured');
  const options = { bindings: callBindings, timeoutMs: probeTimeoutMs, environment: process.env };
  let hasActions = false;
  for await (const { what, found, problem, fix } of probeServices(project, options)) {
    hasActions ||= what === 'Action server';
    if (problem !== undefined) unusable.add(what);
    const diagnosis =
      problem === undefined ? passed(what, found) : failed(what, problem, fix ?? 'fix it');
    yield { diagnosis };
  }
  if (!hasActions) yield nothing('Action server', 'none is needed');
  for (const agent of subAgents.values()) {
    // Remote agents are checked above. Local ones depend on their MCP servers and models.
    if (agent.protocol === 'A2A') continue;
    const parts = agent.mcpServers.map(({ name }) => `MCP server ${name}`);
    const model = agent.modelGroup ?? project.config.generator?.modelGroup ?? onlyGroup(project);
    if (model !== undefined) parts.push(`Model ${model}`);
    const what = `Sub agent ${agent.name}`;
    const missing = parts.filter((part) => unusable.has(part));
    const uses =
      parts.length === 0 ? `runs the code of ${agent.module}` : `uses ${parts.join(', ')}`;
    yield {
      diagnosis:
        missing.length === 0
          ? passed(what, uses)
          : failed(what, `can't use ${missing.join(', ')}`, 'see above'),
    };
  }
  if (subAgents.size === 0) yield nothing('Sub agent', 'none is configured');
}

/** The default model group: the only one. */
function onlyGroup({ endpoints }: Project): string | undefined {
  const [first, ...others] = endpoints.modelGroups.keys();
  return others.length === 0 ? first : undefined;
}

/** The id of the group that a diagnosis of a model is about. */
function groupOf({ what }: Diagnosis): string {
  return what.replace(/^Model /, '');
}

/** The model groups that judge answers in the project's tests. */
async function judgesOf({ directory }: Project): Promise<ReadonlySet<string>> {
  // A project without tests has no judges; `test e2e` reports errors in tests.
  const found = await findTests(directory, directory, process.env).catch(() => undefined);
  return new Set(found?.cases.flatMap(({ judge }) => (judge ? [judge.modelGroup] : [])));
}

/** Downgrades a failure to a warning for a model that no conversation uses. */
function optional(diagnosis: Diagnosis, by: string): Diagnosis {
  const { what, outcome, found, fix = 'fix it' } = diagnosis;
  return outcome === 'failed' ? warning(what, `${found} (${by})`, fix) : diagnosis;
}

function nothing(what: string, found: string): { readonly diagnosis: Diagnosis } {
  return { diagnosis: skipped(what, found) };
}
