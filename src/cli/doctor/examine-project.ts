import { type Project, probeServices } from '../../assistant/index.ts';
import { callBindings } from '../project-files.ts';
import { type Diagnosis, failed, passed, probeTimeoutMs, skipped } from './diagnosis.ts';
import { examineModels, type ModelDiagnosis } from './examine-services.ts';

/** Tries everything that a project connects to: models, action server, MCP servers and sub agents. */
export async function* examineProject(project: Project): AsyncGenerator<ModelDiagnosis> {
  yield* await examineModels(project.endpoints.modelGroups, process.env);
  const { subAgents, endpoints } = project;
  if (endpoints.mcpServers.size === 0) yield nothing('MCP server', 'none is configured');
  const options = { bindings: callBindings, timeoutMs: probeTimeoutMs, environment: process.env };
  let hasActions = false;
  for await (const { what, found, problem, fix } of probeServices(project, options)) {
    hasActions ||= what === 'Action server';
    const diagnosis =
      problem === undefined ? passed(what, found) : failed(what, problem, fix ?? 'fix it');
    yield { diagnosis };
  }
  if (!hasActions) yield nothing('Action server', 'none is needed');
  for (const agent of subAgents.values()) {
    // Those elsewhere are tried above, and the others are as good as their servers and models.
    if (agent.protocol === 'A2A') continue;
    const parts = [
      ...agent.mcpServers.map(({ name }) => name),
      agent.modelGroup ?? 'the only model',
    ];
    yield { diagnosis: passed(`Sub agent ${agent.name}`, `uses ${parts.join(', ')}`) };
  }
  if (subAgents.size === 0) yield nothing('Sub agent', 'none is configured');
}

function nothing(what: string, found: string): { readonly diagnosis: Diagnosis } {
  return { diagnosis: skipped(what, found) };
}
