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
} from 'legate/assistant';
import { startBankModel } from './model/script.ts';
import { overA2a } from './orchestrator.ts';

const directory = import.meta.dirname;

async function load(places: ProjectPlaces, environment: NodeJS.ProcessEnv): Promise<Project> {
  const { project, problems } = await loadProject(places, environment);
  assert.deepEqual(problems.all, []);
  return project;
}

/** Runs every conversation of tests/, and checks that they take every step of every flow. */
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

const matched = await converse(await load({ directory }, process.env));
await using model = await startBankModel();
const environment = { BANK_MODEL: 'scripted', BANK_MODEL_URL: model.url, BANK_MODEL_KEY: 'none' };
const places = {
  directory,
  config: join(directory, 'model', 'config.yml'),
  endpoints: join(directory, 'model', 'endpoints.yml'),
  subAgents: join(directory, 'model', 'sub_agents'),
};
const asked = await converse(await load(places, environment));
assert(model.requests.length > asked, 'the model was asked');
const transfers = await overA2a({ directory }, process.env);
assert.equal(await overA2a(places, environment), transfers);
console.log(
  `bank: ${matched} conversations without a model, ${asked} with one, and both with an orchestrator`,
);
