import { expect, test } from 'vitest';
import { projectFolder } from '../../../test/support/greenhouse.ts';
import { formatProblem } from '../../config/index.ts';
import { buildAssistant, usedModelGroups } from '../build/build-assistant.ts';
import { checkProject } from '../build/check-project.ts';
import { silentLogger } from '../../telemetry/index.ts';
import { loadProject } from './load-project.ts';

const basics = {
  'config.yml': 'assistant_id: shop\npipeline: []\n',
  'domain.yml': 'responses: {utter_hi: [{text: Hi}]}\n',
  'data/flows.yml':
    'flows:\n  hi:\n    description: Say hi.\n    steps:\n      - action: utter_hi\n',
};

/** A project with these files beside the least that one needs. */
async function load(files: Readonly<Record<string, string>>, environment = {}) {
  await using folder = await projectFolder({ ...basics, ...files });
  const { directory } = folder;
  const loaded = await loadProject({ directory }, environment);
  await checkProject(loaded, { PATH: '/nonexistent', ...environment });
  const problems = loaded.problems.all.map((one) =>
    formatProblem(one).replaceAll(`${directory}/`, ''),
  );
  const isFatal = loaded.problems.errors.some((one) => one.isFatal !== false);
  await using assistant = isFatal
    ? undefined
    : await buildAssistant(loaded.project, { environment, logger: silentLogger });
  return { project: loaded.project, problems, isBuilt: assistant !== undefined };
}

test('a model that is described where it is used becomes a group of its own', async () => {
  const { project, problems, isBuilt } = await load(
    {
      'config.yml': `
assistant_id: shop
pipeline:
  - name: LLMCommandGenerator
    llm: {model_name: gpt-4, request_timeout: 30, max_tokens: 256}
`,
      'endpoints.yml': `
nlg:
  type: rephrase
  llm: {provider: self-hosted, model: m, api_base: "http://127.0.0.1:1/v1"}
`,
    },
    { OPENAI_API_KEY: 'key' },
  );
  expect(problems).toEqual([]);
  expect(isBuilt).toBe(true);
  const { generator } = project.config;
  expect(generator?.modelGroup).toBe('config.yml pipeline[0].llm');
  expect(project.endpoints.modelGroups.get(generator?.modelGroup ?? '')).toEqual({
    id: 'config.yml pipeline[0].llm',
    models: [{ provider: 'openai', model: 'gpt-4', request_timeout: 30, max_tokens: 256 }],
  });
  expect(project.endpoints.nlg).toMatchObject({ modelGroup: 'endpoints.yml nlg.llm' });
});

test('the maximum number of steps is a positive integer, and unset if it is empty', async () => {
  const name = 'MAX_NUMBER_OF_PREDICTIONS_CALM';
  for (const value of ['', ' 10 ']) expect(await load({}, { [name]: value })).toBeTruthy();
  for (const value of ['0', '-1', '1.5', 'abc', '1e400']) {
    await expect(load({}, { [name]: value })).rejects.toMatchObject({
      code: 'CONFIGURATION_INVALID',
      message: `${name} must be a positive integer, but is "${value}"`,
    });
  }
});

test('a key that this machine lacks is a warning of validate, for groups that are used', async () => {
  const { problems, isBuilt } = await load({
    'config.yml':
      'assistant_id: shop\npipeline: [{name: CompactLLMCommandGenerator, llm: {model_group: local}}]\n',
    'endpoints.yml': `
model_groups:
  - {id: local, models: [{provider: ollama, model: m}]}
  - {id: spare, models: [{provider: openai, model: m}]}
`,
  });
  expect(problems).toEqual([]);
  expect(isBuilt).toBe(true);
  await expect(
    load(
      {
        'config.yml':
          'assistant_id: shop\npipeline: [{name: CompactLLMCommandGenerator, llm: {model: gpt-4o}}]\n',
      },
      { NODE_ENV: 'production' },
    ),
  ).rejects.toThrow('no key for openai; set OPENAI_API_KEY');
});

test('a provider without a counterpart is a warning that says what happens instead', async () => {
  const { project, problems, isBuilt } = await load({
    'config.yml':
      'assistant_id: shop\npipeline: [{name: CompactLLMCommandGenerator, llm: {model_group: rock}}]\n',
    'endpoints.yml': `
nlg: {type: rephrase, llm: {provider: vertex_ai, model: gemini}}
model_groups:
  - {id: rock, models: [{provider: bedrock, model: claude}]}
  - {id: unused, models: [{provider: sagemaker, model: x}]}
`,
  });
  const hint = 'name a server that offers chat completions with api_base';
  expect(problems).toEqual([
    `config.yml:2:66 pipeline[0].llm.model_group: warning: unsupported provider: MatchingCommandGenerator reads messages instead; ${hint}`,
    `endpoints.yml:2:28 nlg.llm: warning: unsupported provider: responses are sent as written; ${hint}`,
  ]);
  expect(project.config.generator).toBeUndefined();
  expect(project.endpoints.nlg).toBeUndefined();
  expect(isBuilt).toBe(true);
});

test.each([
  [
    'custom.mine.MyCommandGenerator',
    'the class custom.mine.MyCommandGenerator is left out: CompactLLMCommandGenerator reads messages instead, with its llm and prompt_template',
  ],
  [
    'MultiStepLLMCommandGenerator',
    'the class MultiStepLLMCommandGenerator is left out: CompactLLMCommandGenerator reads messages instead, with its llm and prompt_template',
  ],
  [
    'NLUCommandAdapter',
    'left out, there is no such component here: NLUCommandAdapter; MatchingCommandGenerator reads messages instead',
  ],
])('pipeline component %s says which generator reads messages', async (name, warning) => {
  const { problems, isBuilt } = await load({
    'config.yml': `assistant_id: shop\npipeline:\n  - name: ${name}\n    llm: {provider: ollama, model: m}\n`,
  });
  expect(problems).toEqual([`config.yml:3:5 pipeline[0]: warning: ${warning}`]);
  expect(isBuilt).toBe(true);
});

test.each([
  ['rasa_plus.ml.ContextualResponseRephraser', undefined, 'rephrase'],
  ['custom.quick.QuickRephraser', 'the built-in rephraser rewords responses instead', 'rephrase'],
  ['custom.Nlg', 'responses are sent as written', undefined],
])('nlg.type %s is accepted', async (type, instead, read) => {
  const { project, problems } = await load({
    'endpoints.yml': `nlg: {type: ${type}, rephrase_all: true, model_group: g}
model_groups: [{id: g, models: [{provider: ollama, model: m}]}]\n`,
  });
  expect(problems).toEqual(
    instead === undefined
      ? []
      : [`endpoints.yml:1:13 nlg.type: warning: the class ${type} is left out: ${instead}`],
  );
  expect(project.endpoints.nlg?.type).toBe(read);
  if (read !== undefined) expect(project.endpoints.nlg).toMatchObject({ modelGroup: 'g' });
});

test('a rephraser without any model is a warning', async () => {
  const { problems, isBuilt } = await load({ 'endpoints.yml': 'nlg: {type: rephrase}\n' });
  expect(problems).toEqual([
    'endpoints.yml:1:1 nlg: warning: it names no model: responses are sent as written; name one of model_groups in nlg.llm.model_group',
  ]);
  expect(isBuilt).toBe(true);
});

test('slots of the engine and of coexistence may be written down', async () => {
  const { problems, isBuilt } = await load({
    'domain.yml': `
slots:
  route_session_to_calm: {type: bool, shared_for_coexistence: true}
  silence_timeout: {type: float}
responses: {utter_hi: [{text: Hi}]}
`,
  });
  expect(problems).toEqual([
    'domain.yml:3:3 slots.route_session_to_calm: warning: slot "route_session_to_calm" is left out: no NLU-based assistant runs beside this one',
    'domain.yml:4:3 slots.silence_timeout: warning: slot "silence_timeout" is left out: the engine has it already',
  ]);
  expect(isBuilt).toBe(true);
});

test('noop without a value, next beside else, and slots that called flows collect are fine', async () => {
  const { project, problems } = await load({
    'domain.yml': `
slots: {size: {type: text}}
responses: {utter_hi: [{text: Hi}], utter_ask_size: [{text: Which?}]}
`,
    'data/flows.yml': `
flows:
  hi:
    description: Say hi.
    persisted_slots: [size]
    steps:
      - noop:
        next:
          - if: slots.size = "xl"
            then: last
          - else: last
            next: END
      - id: last
        call: ask
  ask:
    description: Ask for the size.
    if: false
    steps:
      - collect: size
`,
  });
  expect(problems).toEqual([
    'data/flows.yml:12:13 flows.hi.steps[0].next[1].next: warning: "next" has no effect here: the step that the branch leads to says what follows it',
  ]);
  expect(project.flows.get('hi')?.steps.get('0_noop')?.next.branches).toHaveLength(2);
});

test('variables of sections that nothing reads need not be set', async () => {
  const { problems } = await load({
    'endpoints.yml': 'tracker_store: {url: "${DB_URL}"}\nfreshdesk: {key: "${KEY}"}\n',
    'credentials.yml': 'rest:\nslack: {token: "${SLACK}"}\n',
  });
  expect(problems.filter((one) => one.includes('is not set'))).toEqual([]);
  const { problems: read } = await load({
    'endpoints.yml': 'action_endpoint: {url: "http://127.0.0.1:1", token: "${TOKEN}"}\n',
  });
  expect(read).toEqual([expect.stringContaining('environment variable TOKEN is not set')]);
});

test('a variable of a model group that nothing uses is a warning when it is not set', async () => {
  const files = (group: string) => ({
    'config.yml': `assistant_id: shop\npipeline: [{name: CompactLLMCommandGenerator, llm: {model_group: ${group}}}]\n`,
    'endpoints.yml': `
model_groups:
  - {id: local, models: [{provider: ollama, model: m}]}
  - {id: spare, models: [{provider: openai, model: m, api_key: "\${SPARE_KEY}"}]}
`,
  });
  const unused = await load(files('local'));
  expect(unused.problems).toEqual([
    expect.stringContaining('warning: environment variable SPARE_KEY is not set'),
  ]);
  expect(unused.isBuilt).toBe(true);
});

test('a list of nlg counts with its first entry', async () => {
  const { project, problems, isBuilt } = await load({
    'endpoints.yml': `
nlg:
  - {type: rephrase, rephrase_all: true, llm: {model_group: local}}
  - {url: "http://127.0.0.1:1", token: "\${TOKEN}"}
model_groups: [{id: local, models: [{provider: ollama, model: m}]}]
`,
  });
  expect(project.endpoints.nlg).toMatchObject({ type: 'rephrase', rephraseAll: true });
  expect(problems).toEqual([
    expect.stringContaining('nlg[1]: warning: left out: the first entry of the list counts'),
    expect.stringContaining('warning: environment variable TOKEN is not set'),
  ]);
  expect(isBuilt).toBe(true);
});

test.each([
  ['a component that is left out', '[{name: DIETClassifier, key: "${KEY}"}]', 'warning'],
  [
    'a second generator',
    '[{name: CompactLLMCommandGenerator}, {name: LLMCommandGenerator, prompt: "${KEY}"}]',
    'warning',
  ],
  [
    'embeddings of flow retrieval',
    '[{name: CompactLLMCommandGenerator, flow_retrieval: {embeddings: {api_key: "${KEY}"}}}]',
    'warning',
  ],
  [
    'the model of the generator',
    '[{name: CompactLLMCommandGenerator, llm: {provider: openai, model: m, api_key: "${KEY}"}}]',
    'warning',
  ],
  [
    'what the generator reads',
    '[{name: CompactLLMCommandGenerator, user_input: {max_characters: "${KEY}"}}]',
    'warning',
  ],
])('a variable that is not set in %s', async (_, pipeline, severity) => {
  const config = `assistant_id: shop\npipeline: ${pipeline}\n`;
  const { problems, isBuilt } = await load({ 'config.yml': config });
  const about = problems.filter((one) => one.includes('variable KEY is not set'));
  expect(about).toHaveLength(1);
  expect(about[0]?.includes('warning:')).toBe(severity === 'warning');
  expect(isBuilt).toBe(severity === 'warning');
});

test('without the key of its model a project runs without the model, except in production', async () => {
  const files = {
    'config.yml':
      'assistant_id: shop\npipeline: [{name: CompactLLMCommandGenerator, llm: {model_group: main}}]\n',
    'endpoints.yml': `
nlg: {type: rephrase, llm: {model_group: main}}
model_groups: [{id: main, models: [{provider: openai, model: m, api_key: "\${MAIN_KEY}"}]}]
`,
  };
  const unset = 'environment variable MAIN_KEY is not set';
  const missing = await load(files);
  expect(missing.problems).toContainEqual(expect.stringContaining(`warning: ${unset}`));
  expect(missing.isBuilt).toBe(true);
  const production = await load(files, { NODE_ENV: 'production' });
  expect(production.problems).toContainEqual(expect.stringContaining(`api_key: ${unset}`));
  expect(production.isBuilt).toBe(false);
});

const agent = (module: string) => ({
  'sub_agents/finder/config.yml': `
agent: {name: finder, description: Finds a hotel.}
configuration: {module: ${module}, startup_check: lazy}
connections: {mcp_servers: [{name: hotels}]}
`,
  'endpoints.yml': `
mcp_servers: [{name: hotels, url: "http://127.0.0.1:1/mcp"}]
model_groups: [{id: g, models: [{provider: ollama, model: m}]}]
`,
});

test('a sub agent with a Python class runs without it, and names the hooks to write', async () => {
  const { problems, isBuilt } = await load({
    ...agent('custom.finder.FinderAgent'),
    'custom/finder.py':
      'class FinderAgent:\n    async def process_input(self, input):\n        return input\n\n    def get_custom_tool_definitions(self):\n        return []\n',
  });
  expect(problems).toEqual([
    'sub_agents/finder/config.yml:1:1 configuration.module: warning: the Python class custom.finder.FinderAgent is left out: the agent runs without its hooks; write processInput, tools in sub_agents/finder/agent.ts, and name it with module: ./agent.ts',
  ]);
  expect(isBuilt).toBe(true);
});

test('a module of a sub agent that is missing or exports nothing is an error of validate', async () => {
  const { problems } = await load(agent('./agent.ts'));
  expect(problems).toEqual([
    'sub_agents/finder/config.yml:1:1 configuration.module: sub agent finder: there is no module ./agent.ts; write a path such as ./agent.ts',
  ]);
  const empty = await load({
    ...agent('./agent.ts'),
    'sub_agents/finder/agent.ts': 'export {};\n',
  });
  expect(empty.problems).toEqual([expect.stringContaining('its module exports none of')]);
});

const flow = (steps: string) => `flows:\n  hi:\n    description: Say hi.\n    steps:\n${steps}`;

test('errors of one flow keep the others running: names without a definition, and steps that cannot be read', async () => {
  const { project, problems, isBuilt } = await load({
    'domain.yml': 'slots: {name: {type: text}}\nresponses: {utter_hi: [{text: Hi}]}\n',
    'data/flows.yml': flow(
      '      - collect: nickname\n      - action: utter_bye\n      - action: action_greet\n',
    ),
    'data/odd.yml':
      'flows:\n  odd:\n    description: Odd.\n    steps:\n      - if: slots.name\n        then: END\n',
  });
  expect(problems).toEqual([
    'data/flows.yml:5:18 flows.hi.steps[0].collect: no slot named "nickname"',
    'data/flows.yml:6:17 flows.hi.steps[1].action: no response named "utter_bye"',
    'data/flows.yml:7:17 flows.hi.steps[2].action: no action named "action_greet"; add it to actions in the domain',
    'data/odd.yml:2:3 flows.odd: warning: flow "odd" is left out; fix its errors',
    'data/odd.yml:5:9 flows.odd.steps[0]: a step needs one of action, collect, set_slots, noop, link, call',
  ]);
  expect(isBuilt).toBe(true);
  expect([...project.flows.keys()]).not.toContain('odd');
  expect(project.domain.slots.get('nickname')?.type).toBe('any');
  expect(project.domain.actions.has('action_greet')).toBe(true);
});

test('keys that only other engines know, and steps after a link, are warnings', async () => {
  const { problems, isBuilt } = await load({
    'data/flows.yml': `${flow('      - link: bye\n      - action: utter_hi\n        ask_confirm_digressions: true\n')}
    block_digressions: true
  bye:
    description: Say goodbye.
    steps:
      - action: utter_hi
`,
  });
  expect(isBuilt).toBe(true);
  expect(problems).toEqual([
    'data/flows.yml:6:9 flows.hi: warning: step "1_action_utter_hi" is never reached; lead to it by next, or remove it',
    'data/flows.yml:7:9 flows.hi.steps[1].ask_confirm_digressions: warning: "ask_confirm_digressions" has no effect and is ignored',
    'data/flows.yml:9:5 flows.hi.block_digressions: warning: "block_digressions" has no effect and is ignored',
  ]);
});

test('a model group that endpoints.yml does not describe is left out, except in production', async () => {
  const config =
    'assistant_id: shop\npipeline:\n  - {name: CompactLLMCommandGenerator, llm: {model_group: big}}\n';
  const { project, problems, isBuilt } = await load({ 'config.yml': config });
  expect(isBuilt).toBe(true);
  expect(project.config.generator).toBeUndefined();
  expect(problems).toEqual([
    'config.yml:3:59 pipeline[0].llm.model_group: warning: no model group named "big": MatchingCommandGenerator reads messages instead; describe it under model_groups in endpoints.yml',
  ]);
  const production = await load({ 'config.yml': config }, { NODE_ENV: 'production' });
  expect(production.isBuilt).toBe(false);
});

test('slots by the path of their class, and a payload for each language, are read', async () => {
  const { project, problems } = await load({
    'domain.yml': `
slots:
  done: {type: rasa.shared.core.slots.BooleanSlot}
  plan: {type: my.slots.PlanSlot}
responses:
  utter_hi:
    - text: Hi
      buttons:
        - title: Yes
          payload: "yes"
          translation: {de: {title: Ja, payload: ja}}
`,
  });
  expect(project.domain.slots.get('done')?.type).toBe('bool');
  expect(project.domain.slots.get('plan')?.type).toBe('any');
  expect(project.domain.responses.get('utter_hi')?.[0]?.buttons?.[0]?.translation).toEqual({
    de: { title: 'Ja', payload: 'ja' },
  });
  expect(problems).toEqual([
    'domain.yml:4:16 slots.plan.type: warning: the class my.slots.PlanSlot is left out: the slot holds any value',
  ]);
});

test('a pipeline that is a name, as in Rasa 1, is left out with a warning', async () => {
  const { problems, isBuilt } = await load({ 'config.yml': 'pipeline: supervised_embeddings\n' });
  expect(isBuilt).toBe(true);
  expect(problems).toContain(
    'config.yml:1:11 pipeline: warning: the pipeline "supervised_embeddings" is left out: MatchingCommandGenerator reads messages instead; write a list of components',
  );
});

test('a project without flows runs with its patterns', async () => {
  const { problems, isBuilt } = await load({ 'data/flows.yml': 'nlu: []\n' });
  expect(isBuilt).toBe(true);
  expect(problems).toContainEqual(expect.stringMatching(/^data:1:1: warning: there is no flow/));
});

test('a sub agent runs without a model where none is left, and a call of it fails', async () => {
  const { isBuilt, problems } = await load({
    'config.yml':
      'assistant_id: shop\npipeline:\n  - {name: CompactLLMCommandGenerator, llm: {model_group: main}}\n',
    'endpoints.yml':
      'model_groups:\n  - {id: main, models: [{provider: openai, model: gpt-4o}]}\nmcp_servers: [{name: shop, url: "http://127.0.0.1:9/mcp", type: http}]\n',
    'sub_agents/finder/config.yml':
      'agent: {name: finder, description: Finds.}\nconnections: {mcp_servers: [{name: shop}]}\n',
  });
  expect(problems.filter((one) => !one.includes('warning'))).toEqual([]);
  expect(isBuilt).toBe(true);
});

test('a step that runs a form does nothing, and an action may ask in place of a response', async () => {
  const { isBuilt, problems } = await load({
    'domain.yml': `
responses: {utter_hi: [{text: Hi}]}
actions: [action_ask]
slots: {guess: {type: text}}
forms: {riddle_form: {required_slots: [guess]}}
`,
    'data/flows.yml': `flows:
  hi:
    description: Say hi.
    steps:
      - action: riddle_form
      - {collect: guess, utter: action_ask}
`,
    'actions.ts': `export const ask = { name: 'action_ask', run: async () => undefined };\n`,
  });
  expect(isBuilt).toBe(true);
  expect(problems).toEqual([
    'data/flows.yml:5:17 flows.hi.steps[0].action: warning: form "riddle_form" is left out: the step does nothing; write a collect step',
    'data/flows.yml:6:33 flows.hi.steps[1].utter: warning: "action_ask" is an action, which asks instead of a response',
    'domain.yml:5:1 forms: warning: "forms" is left out; write a flow instead',
  ]);
});

test('only the groups that something asks are needed', async () => {
  const { project } = await load({
    'endpoints.yml':
      'model_groups:\n  - {id: spare, models: [{provider: self-hosted, model: m, api_base: "http://127.0.0.1:1/v1"}]}\n',
  });
  expect([...usedModelGroups(project)]).toEqual([]);
});

test('a key that is written twice in the domain or in a flow keeps the project running with the first', async () => {
  const { problems, project, isBuilt } = await load({
    'domain.yml': 'responses: {utter_hi: [{text: Hi}], utter_hi: [{text: Hello}]}\n',
    'data/flows.yml':
      'flows:\n  hi:\n    description: Say hi.\n    description: Greet.\n    steps:\n      - action: utter_hi\n',
  });
  expect(isBuilt).toBe(true);
  expect(problems).toEqual([
    'data/flows.yml:4:5 flows.hi.description: duplicate key "description"; keep one of them',
    'domain.yml:1:37 responses.utter_hi: duplicate key "utter_hi"; keep one of them',
  ]);
  expect(project.flows.get('hi')?.description).toBe('Say hi.');
});

test('settings of a model that cannot be read are named with their value, and the others count', async () => {
  const { problems, project, isBuilt } = await load(
    {
      'endpoints.yml': `
model_groups:
  - id: main
    models:
      - {provider: openai, model: gpt-4o, timeout: "7", temperature: hot, max_completion_tokens: 0, api_key: null}
  - {id: unset, models: [{provider: "\${PROVIDER}", model: "\${MODEL}"}]}
`,
    },
    { OPENAI_API_KEY: 'key' },
  );
  expect(isBuilt).toBe(true);
  expect(problems).toEqual([
    'endpoints.yml:5:70 model_groups[0].models[0].temperature: must be a number, but is "hot"',
    'endpoints.yml:5:98 model_groups[0].models[0].max_completion_tokens: expected number to be >0, but is 0',
    'endpoints.yml:6:37 model_groups[1].models[0].provider: warning: environment variable PROVIDER is not set; set it, or write $${PROVIDER} for a dollar sign and braces',
    'endpoints.yml:6:59 model_groups[1].models[0].model: warning: environment variable MODEL is not set; set it, or write $${MODEL} for a dollar sign and braces',
  ]);
  expect(project.endpoints.modelGroups.get('main')?.['models']).toEqual([
    { provider: 'openai', model: 'gpt-4o', timeout: 7 },
  ]);
});
