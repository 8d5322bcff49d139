import { join } from 'node:path';
import { agent } from '../../src/agents/index.ts';
import { type AssistantServing, serveAssistant } from '../../src/assistant/index.ts';
import { serve } from '../../src/http/index.ts';
import { startScriptedModelServer } from '../../src/models/index.ts';
import { artifact } from '../../src/protocol/index.ts';
import { projectFolder } from '../support/greenhouse.ts';

const sums = join(import.meta.dirname, '../../src/mcp/testing/stdio-server.ts');

/** One flow that does everything a turn can do: a model reads it, a tool, an action and a sub agent work. */
const files = {
  'config.yml': `
assistant_id: travel-desk
pipeline: [{name: CompactLLMCommandGenerator, llm: {model_group: main}}]
`,
  'domain.yml': `
session_config: {start_session_after_expiry: false}
actions: [action_note]
slots:
  first: {type: float, initial_value: 2, mappings: [{type: controlled}]}
  sum: {type: float, mappings: [{type: controlled}]}
`,
  'data/flows.yml': `
flows:
  plan:
    name: planning
    description: Plan a trip.
    run_pattern_completed: false
    steps:
      - call: add
        mcp_server: sums
        mapping:
          input: [{param: a, slot: first}, {param: b, slot: first}]
          output: [{slot: sum, value: result.structuredContent.sum}]
      - action: action_note
      - call: finder
`,
  'actions.ts': `
export const note = { name: 'action_note', run: async ({ utter }) => utter('Noted.') };
`,
  'sub_agents/finder/config.yml': `
agent: {name: finder, description: Finds a hotel., protocol: A2A}
configuration: {agent_card: "\${FINDER}/.well-known/agent-card.json"}
`,
  'endpoints.yml': `
store: {type: memory}
a2a_server: {description: Plans trips.}
telemetry: {prometheus: true, otlp: {endpoint: "\${COLLECTOR}", batch_delay_seconds: 0.1}}
action_endpoint: {actions_module: actions.ts}
mcp_servers:
  - {name: sums, type: stdio, command: node, args: ["${sums}"]}
model_groups:
  - id: main
    models: [{provider: self-hosted, model: reader, api_base: "\${MODEL}", api_key: "\${KEY}"}]
`,
};

/** The assistant with its model, MCP server and sub agent. */
export async function startTravelDesk(collector: string): Promise<AssistantServing> {
  await using stack = new AsyncDisposableStack();
  const model = stack.adopt(await startScriptedModelServer(() => 'start flow plan'), (server) =>
    server.close(),
  );
  const finder = stack.use(
    await serve(
      agent({ name: 'finder' }, async function* () {
        yield artifact('The Ritz.');
      }),
      { drainMs: 0 },
    ),
  );
  const folder = stack.use(await projectFolder(files));
  const serving = stack.use(
    await serveAssistant({
      places: { directory: folder.directory },
      environment: { COLLECTOR: collector, MODEL: model.url, FINDER: finder.url, KEY: 'none' },
      drainMs: 0,
    }),
  );
  const opened = stack.move();
  const close = () => opened.disposeAsync();
  return { ...serving, close, [Symbol.asyncDispose]: close };
}

/** A message of a user; returns the texts of the answer. */
export async function say(url: string, message: string): Promise<readonly unknown[]> {
  const response = await fetch(`${url}/webhooks/rest/webhook`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sender: 'ada', message }),
  });
  const messages = (await response.json()) as readonly { readonly text?: unknown }[];
  return messages.map(({ text }) => text);
}
