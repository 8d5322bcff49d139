import assert from 'node:assert/strict';
import { join } from 'node:path';
import {
  checkNames,
  describeFailure,
  findTests,
  loadProject,
  type Project,
  type ProjectPlaces,
  runTests,
} from '../../src/assistant/index.ts';
import { connect } from '../../src/client/index.ts';
import { serveAssistant } from '../../src/http/index.ts';
import { type JsonObject, message, type Task } from '../../src/protocol/index.ts';
import { startBankModel } from './model/script.ts';

const directory = import.meta.dirname;

async function load(places: ProjectPlaces, environment: NodeJS.ProcessEnv): Promise<Project> {
  const { project, problems } = await loadProject(places, environment);
  assert.deepEqual(problems.all, []);
  return project;
}

/** Every conversation of tests/ must go as expected, and take every step of every flow. */
async function converse(project: Project): Promise<number> {
  const { cases, problems } = await findTests(join(directory, 'tests'), directory, process.env);
  checkNames(cases, project, problems);
  assert.deepEqual(problems.all, []);
  const { results, coverage } = await runTests(project, cases);
  const failed = results.filter(({ failures }) => failures.length > 0);
  assert.equal(failed.length, 0, failed.map(describeFailure).join('\n\n'));
  assert.deepEqual(
    coverage.flatMap(({ flow, missing }) => missing.map(({ step }) => `${flow} ${step}`)),
    [],
  );
  return results.length;
}

function stateOf({ status }: Task): JsonObject {
  return (status.message?.parts[0]?.data ?? {}) as JsonObject;
}

/** As an orchestrator sees it: a question, its answers, and what is left behind. */
async function overA2a(): Promise<void> {
  await using serving = await serveAssistant({
    places: { directory },
    store: { type: 'memory' },
  });
  const client = await connect(serving.url);
  const say = async (contextId: string, text: string): Promise<Task> => {
    const answer = await client.sendMessage(message(text, { contextId }));
    assert('task' in answer);
    return answer.task;
  };
  const asked = await say('one', 'send 50 to Ann');
  assert.equal(asked.status.state, 'TASK_STATE_INPUT_REQUIRED');
  assert.equal(stateOf(asked)['active_flow'], 'transfer_money');
  const sent = await say('one', 'yes');
  assert.equal(sent.status.state, 'TASK_STATE_COMPLETED');
  assert.deepEqual(stateOf(sent)['persisted_slots'], { transfer_status: 'sent' });
  const refused = await say('two', 'paint my house');
  assert.equal(refused.status.state, 'TASK_STATE_REJECTED');
}

const matched = await converse(await load({ directory }, process.env));
await using model = await startBankModel();
const environment = { BANK_MODEL: 'scripted', BANK_MODEL_URL: model.url, BANK_MODEL_KEY: 'none' };
const asked = await converse(
  await load(
    {
      directory,
      config: join(directory, 'model', 'config.yml'),
      endpoints: join(directory, 'model', 'endpoints.yml'),
      subAgents: join(directory, 'model', 'sub_agents'),
    },
    environment,
  ),
);
assert(model.requests.length > asked, 'the model was asked');
await overA2a();
console.log(
  `bank: ${matched} conversations without a model, ${asked} with one, and one with an orchestrator`,
);
