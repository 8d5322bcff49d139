import { expect, test } from 'vitest';
import { agent, inputRequired, remoteAgent, working } from '../../src/agents/index.ts';
import { serveAssistant } from '../../src/assistant/index.ts';
import { type Client, connect } from '../../src/client/index.ts';
import { serve } from '../../src/http/index.ts';
import { artifact, type Message, message } from '../../src/protocol/index.ts';
import { projectFolder } from '../support/greenhouse.ts';

/** Asks back once, and says that it works as soon as it starts. */
const finder = agent({ name: 'finder' }, async function* (turn) {
  yield working();
  if (turn.isContinuation) yield artifact('The Ritz.');
  else yield inputRequired('Which city?');
});

/** The states that a stream shows, artifacts left out. */
async function statesOf(client: Client, said: Message): Promise<readonly string[]> {
  const states: string[] = [];
  for await (const { response } of client.sendStreamingMessage(said)) {
    if ('task' in response) states.push(response.task.status.state);
    if ('statusUpdate' in response) states.push(response.statusUpdate.status.state);
  }
  return states;
}

/** Asks, and answers the question of the task over a stream. */
async function continued(url: string, binding: 'JSONRPC' | 'HTTP+JSON') {
  const client = await connect(url, { binding });
  const asked = await client.sendMessage('find a hotel');
  if (!('task' in asked)) throw new Error('a task was expected');
  expect(asked.task.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  const { id: taskId, contextId } = asked.task;
  return statesOf(client, message('Rome', { taskId, contextId }));
}

const once = ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'];

test.each(['JSONRPC', 'HTTP+JSON'] as const)(
  'a continuation streams working once over %s: of an agent, through another one, and through an assistant',
  async (binding) => {
    await using far = await serve(finder, { drainMs: 0 });
    await using near = await serve(remoteAgent(far.url, { name: 'near' }), { drainMs: 0 });
    await using folder = await projectFolder({
      'config.yml': 'assistant_id: desk\npipeline: [{name: MatchingCommandGenerator}]\n',
      'domain.yml': 'session_config: {start_session_after_expiry: false}\n',
      'data/flows.yml': `
flows:
  hotel:
    description: Find a hotel.
    examples: [find a hotel]
    run_pattern_completed: false
    steps:
      - call: finder
`,
      'sub_agents/finder/config.yml': `
agent: {name: finder, description: Finds a hotel., protocol: A2A}
configuration: {agent_card: "\${FINDER}/.well-known/agent-card.json"}
`,
      'endpoints.yml': 'store: {type: memory}\na2a_server: {description: Books trips.}\n',
    });
    await using assistant = await serveAssistant({
      places: { directory: folder.directory },
      environment: { FINDER: far.url },
      drainMs: 0,
    });
    for (const { url } of [far, near, assistant]) {
      expect(await continued(url, binding)).toEqual(once);
    }
  },
);
