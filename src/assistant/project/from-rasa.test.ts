import { expect, test } from 'vitest';
import { projectFolder } from '../../../test/support/greenhouse.ts';
import { formatProblem } from '../../config/index.ts';
import { buildAssistant } from '../build/build-assistant.ts';
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
  await using assistant =
    loaded.problems.errors.length === 0
      ? await buildAssistant(loaded.project, { environment, logger: silentLogger })
      : undefined;
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
    load({
      'config.yml':
        'assistant_id: shop\npipeline: [{name: CompactLLMCommandGenerator, llm: {model: gpt-4o}}]\n',
    }),
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
    `config.yml:2:66 pipeline[0].llm.model_group: warning: its provider has no counterpart here: MatchingCommandGenerator reads messages instead; ${hint}`,
    `endpoints.yml:2:28 nlg.llm: warning: its provider has no counterpart here: responses are sent as written; ${hint}`,
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
  const used = await load(files('spare'));
  expect(used.problems).toContainEqual(
    expect.stringContaining('api_key: environment variable SPARE_KEY is not set'),
  );
  expect(used.isBuilt).toBe(false);
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
