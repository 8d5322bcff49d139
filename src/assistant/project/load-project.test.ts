import { cp, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { projectFolder } from '../../../test/support/greenhouse.ts';
import { formatProblem } from '../../config/index.ts';
import { renderFormat } from '../templates/template.ts';
import { loadProject } from './load-project.ts';

const loan = fileURLToPath(new URL('__fixtures__/loan', import.meta.url));
const environment = {
  OPENAI_API_KEY: 'key',
  MODEL_TIMEOUT: '7',
  LOANS_TOKEN: 'token',
  APPRAISER_KEY: 'secret',
};

/** A copy of the fixture, with some files replaced. */
async function copy(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'legate-project-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  await cp(loan, directory, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  return directory;
}

/** Problems with file names relative to the project. */
async function problemsOf(directory: string, more: object = {}): Promise<readonly string[]> {
  const { problems } = await loadProject({ directory, ...more }, environment);
  return problems.all.map((one) => formatProblem(one).replaceAll(`${directory}/`, ''));
}

test('a whole project loads without a problem', async () => {
  const { project, problems } = await loadProject({ directory: loan }, environment);
  expect(problems.all.map(formatProblem)).toEqual([]);
  expect(project).toMatchObject({
    name: 'loan_desk',
    config: {
      language: 'en',
      additionalLanguages: ['de'],
      generator: {
        component: 'CompactLLMCommandGenerator',
        commands: 'v2',
        modelGroup: 'main',
        promptTemplate: 'prompts/commands.jinja2',
        flowRetrieval: { isActive: true, numFlows: 12 },
        maxCharacters: 500,
        timezone: 'UTC',
      },
    },
    endpoints: {
      actionEndpoint: { url: 'http://127.0.0.1:5055/webhook', timeout: 300 },
      nlg: { type: 'rephrase', rephraseAll: false, maxHistoricalTurns: 5 },
      a2aServer: {
        description: 'Personal loan assistant',
        includeConversationRepair: true,
        taskTimeoutSeconds: 600,
        messageCacheTtlSeconds: 600,
        maxContexts: 1000,
        pushNotificationsEnabled: false,
        auth: undefined,
      },
    },
  });
  expect(project.flows.get('request_loan')?.steps.size).toBe(9);
  expect(project.flows.has('pattern_completed')).toBe(true);
  expect(project.domain.responses.has('utter_internal_error_rasa')).toBe(true);
  expect(project.endpoints.modelGroups.get('main')).toEqual({
    id: 'main',
    models: [{ provider: 'openai', model: 'gpt-large', api_key: 'key', timeout: 7 }],
  });
  expect(project.endpoints.mcpServers.get('loans')).toEqual({
    name: 'loans',
    url: 'http://127.0.0.1:7000/mcp',
    auth: { kind: 'token', token: 'token' },
    metaMap: {
      static: { channel: 'web' },
      fromSlots: [{ slot: 'customer', param: 'customer_id' }],
    },
  });
  expect([...project.credentials]).toEqual([['rest', {}]]);
  expect(project.subAgents.get('rate_finder')).toEqual({
    name: 'rate_finder',
    description: 'Finds the rate that suits the applicant.',
    folder: 'rate_finder',
    module: undefined,
    protocol: 'RASA',
    timeout: 30,
    maxRetries: 3,
    modelGroup: 'main',
    promptTemplate: 'sub_agents/rate_finder/prompt.jinja2',
    includeDateTime: true,
    startupCheck: 'warn',
    timezone: 'Europe/Berlin',
    enableFillerMessages: true,
    toolTimeout: undefined,
    maxIterations: 10,
    mcpServers: [{ name: 'loans', includeTools: ['list_rates'], excludeTools: undefined }],
  });
  expect(project.subAgents.get('appraiser')).toMatchObject({
    protocol: 'A2A',
    auth: { kind: 'api_key', key: 'secret', headerName: 'X-Api-Key', headerFormat: '{key}' },
    maxPollingTime: 60,
    pollingInitialDelay: 0.5,
  });
  expect(project.files.get('sub_agents/rate_finder/prompt.jinja2')).toContain('Find a rate');
});

test('missing variables are named with their keys', async () => {
  const { problems } = await loadProject({ directory: loan }, { NODE_ENV: 'production' });
  expect(problems.errors.map(({ path, message }) => `${path}: ${message}`)).toEqual([
    'model_groups[0].models[0].api_key: environment variable OPENAI_API_KEY is not set',
    'model_groups[0].models[0].timeout: environment variable MODEL_TIMEOUT is not set',
    'mcp_servers[0].token: environment variable LOANS_TOKEN is not set',
    'configuration.auth.api_key: environment variable APPRAISER_KEY is not set',
  ]);
});

test('outside production, services whose variables are not set are left out with a warning', async () => {
  const directory = await copy({
    'endpoints.yml': `action_endpoint: {url: "\${ACTIONS_URL}"}
nlg: {type: server, url: "\${NLG_URL}"}
mcp_servers: [{name: loans, url: "http://127.0.0.1:1/\${MCP_PATH}"}]
model_groups: [{id: main, models: [{provider: openai, model: m}]}]
`,
  });
  const { project, problems } = await loadProject({ directory }, {});
  expect(() => problems.throwIfErrors()).not.toThrow();
  expect(problems.errors).toEqual([]);
  expect(project.endpoints).toMatchObject({ actionEndpoint: { url: undefined }, nlg: undefined });
  // Its card needs a key.
  expect([...project.subAgents.keys()]).toEqual(['rate_finder']);
  expect(problems.warnings.map(({ path, message }) => `${path}: ${message}`)).toEqual([
    'action_endpoint.url: environment variable ACTIONS_URL is not set',
    'nlg.url: environment variable NLG_URL is not set',
    'mcp_servers[0].url: environment variable MCP_PATH is not set',
    'agent.name: sub agent "appraiser" is left out: calls of it fail',
    'configuration.auth.api_key: environment variable APPRAISER_KEY is not set',
  ]);
});

test('sections that Rasa has too may have further keys and odd values, except in production', async () => {
  const directory = await copy({
    'endpoints.yml': `action_endpoint: {url: "http://127.0.0.1:5055/webhook", token: literal, timeout: long}
mcp_servers:
  - {name: loans, url: "http://127.0.0.1:1/mcp", transport: streamable, retries: 3}
  - {name: bad, url: 3}
model_groups: [{id: main, models: [{provider: openai, model: m}]}]
a2a_server: {description: Loans, future_key: 1}
`,
    'sub_agents/appraiser/config.yml':
      'agent: {name: appraiser, protocol: carrier-pigeon, description: d, version: 2}\n',
  });
  await mkdir(join(directory, 'sub_agents/shared'));
  const { project, problems } = await loadProject({ directory }, environment);
  expect(() => problems.throwIfErrors()).not.toThrow();
  expect(project.endpoints.actionEndpoint).toMatchObject({ token: 'literal', timeout: 300 });
  expect([...project.endpoints.mcpServers.keys()]).toEqual(['loans', 'bad']);
  expect([...project.subAgents.keys()]).toEqual(['rate_finder']);
  const messages = problems.all.map(
    ({ severity, path, message }) => `${severity} ${path}: ${message}`,
  );
  expect(messages).toContain('warning : has no config.yml: it is not a sub agent');
  expect(messages).toContain(
    'warning a2a_server.future_key: "future_key" has no effect and is ignored',
  );
  expect(messages).toContain('warning action_endpoint.token: a secret is written into this file');
  const strict = await loadProject({ directory }, { ...environment, NODE_ENV: 'production' });
  expect(() => strict.problems.throwIfErrors()).toThrow('a secret must not be written into a file');
});

test('components, channels and stores that do not exist here are warnings, one for each file', async () => {
  const directory = await copy({
    'config.yml': `
pipeline:
  - name: WhitespaceTokenizer
  - name: rasa.nlu.DIETClassifier
  - SearchReadyLLMCommandGenerator
policies:
  - FlowPolicy
  - name: IntentlessPolicy
    vector_store: {type: faiss}
`,
    'credentials.yml': 'rest:\nslack: {slack_token: x}\ntelegram: {}\n',
    'endpoints.yml': `
tracker_store: {type: SQL, password: plain}
lock_store: {type: redis}
event_broker: {type: kafka}
tracing: []
mcp_servers: [{name: loans, url: "http://127.0.0.1:7000/mcp"}]
store: {type: memory}
model_groups: [{id: main, models: [{provider: ollama, model: m}]}]
`,
  });
  const { project } = await loadProject({ directory }, environment);
  expect(project.config.generator).toMatchObject({ commands: 'v3', modelGroup: undefined });
  expect(project.endpoints.store).toMatchObject({ type: 'memory' });
  expect(await problemsOf(directory)).toEqual([
    'config.yml:3:5 pipeline[0]: warning: left out, there is no such component here: WhitespaceTokenizer, DIETClassifier, IntentlessPolicy',
    'credentials.yml:2:1 slack: warning: left out, there is no such channel here: slack, telegram',
    'endpoints.yml:2:1 tracker_store: warning: "tracker_store" is left out; configure "store" instead',
    'endpoints.yml:3:1 lock_store: warning: "lock_store" is left out; configure "store" instead',
    'endpoints.yml:4:1 event_broker: warning: "event_broker", "tracing" ignored: Legate has no such section',
  ]);
});

test('a2a_server needs a session that continues, and says so by its code', async () => {
  const directory = await copy();
  await rm(join(directory, 'domain/slots.yml'));
  const { problems } = await loadProject({ directory }, environment);
  expect(problems.errors.map(({ code, position }) => code && [code, position.line])).toContainEqual(
    ['validation.a2a_server.incompatible_session_config', 22],
  );
});

test.each([
  ['algorithm: HS384, secret: "${LOANS_TOKEN}"', []],
  ['algorithm: HS384', ['"secret" is missing; write "${JWT_SECRET}"']],
  ['algorithm: RS384', ['"public_key_path" is missing; name a PEM file with the public key']],
  [
    'algorithm: HS384, secret: "${LOANS_TOKEN}", public_key_path: key.pem',
    ['HS384 is verified with a secret, not with a public key'],
  ],
  [
    'algorithm: RS384, secret: "${LOANS_TOKEN}", public_key_path: key.pem',
    ['RS384 is verified with a public key, not with a secret'],
  ],
])('an unknown algorithm still names its kind of key: %s', async (jwt, further) => {
  const directory = await copy({
    'endpoints.yml': `a2a_server: {description: x, auth: {type: bearer, jwt: {${jwt}}}}`,
  });
  const problems = await problemsOf(directory);
  const found = problems.filter((one) => one.includes('a2a_server.auth'));
  const [, algorithm] = /algorithm: (\w+)/.exec(jwt) ?? [];
  const known = 'HS256, HS512, RS256, RS512, ES256, ES512, PS256';
  expect(found.map((one) => one.replace(/^\S+ \S+: /, '')).sort()).toEqual(
    [`must be one of ${known}, but is "${algorithm}"`, ...further].sort(),
  );
});

test('mistakes in endpoints are reported, and no secret is shown', async () => {
  const directory = await copy({
    'endpoints.yml': `action_endpoint: {token: hunter2}
model_groups:
  - id: main
    models: [{provider: openai, model: m, api_key: hunter2}]
  - {id: main, models: [{provider: ollama}]}
  - {id: none, models: []}
mcp_servers:
  - {name: loans, url: "ftp://x", token: "\${LOANS_TOKEN}", api_key: "\${LOANS_TOKEN}"}
  - {name: loans, url: "http://user:hunter2@x/", oauth: {client_id: a, client_secret: hunter2, token_url: "http://x"}}
  - {name: other, url: "http://x", meta_map: {from_slots: [{slot: custmer, param: p}]}}
a2a_server:
  url: nowhere
  max_contexts: -1
  task_timeout_seconds: 1.5
  tls: {cert: x}
  auth: {type: api_key, jwt: {algorithm: HS256, secret: hunter2, public_key_path: x}}
nlg: {type: rephrase, llm: {model: gpt}}
trackerstore: {}
tls: {cert: x}
`,
  });
  const problems = await problemsOf(directory);
  expect(problems.join('\n')).not.toContain('hunter2');
  expect(problems).toEqual([
    'endpoints.yml:1:1 action_endpoint: "url" or "actions_module" is missing',
    'endpoints.yml:1:26 action_endpoint.token: warning: a secret is written into this file; write "${TOKEN}"',
    'endpoints.yml:4:52 model_groups[0].models[0].api_key: warning: a secret is written into this file; write "${API_KEY}"',
    'endpoints.yml:5:10 model_groups[1].id: duplicate model group "main"',
    'endpoints.yml:6:5 model_groups[2]: model group "none": models: expected array to have >=1 items',
    'endpoints.yml:8:24 mcp_servers[0].url: must be a URL that starts with http:// or https://',
    'endpoints.yml:8:35 mcp_servers[0].token: "api_key" is there already; keep one of them',
    'endpoints.yml:9:12 mcp_servers[1].name: a server named "loans" is there already',
    'endpoints.yml:9:24 mcp_servers[1].url: must not hold a user name or a password; configure authentication instead',
    'endpoints.yml:9:87 mcp_servers[1].oauth.client_secret: warning: a secret is written into this file; write "${CLIENT_SECRET}"',
    'endpoints.yml:10:67 mcp_servers[2].meta_map.from_slots[0].slot: no slot named "custmer"; did you mean "customer"?',
    'endpoints.yml:11:1 a2a_server: "description" is missing; say what the agent is for',
    'endpoints.yml:12:8 a2a_server.url: must be a URL that starts with http:// or https://',
    'endpoints.yml:13:17 a2a_server.max_contexts: must be a whole number that is not less than 0, but is -1',
    'endpoints.yml:14:25 a2a_server.task_timeout_seconds: must be a whole number, but is 1.5',
    'endpoints.yml:15:3 a2a_server.tls: "tls" does not belong here; all routes share one port: use --ssl-certificate and --ssl-keyfile',
    'endpoints.yml:16:16 a2a_server.auth.type: must be one of bearer, but is "api_key"',
    'endpoints.yml:16:57 a2a_server.auth.jwt.secret: a secret must not be written into a file; write "${SECRET}"',
    'endpoints.yml:16:66 a2a_server.auth.jwt.public_key_path: HS256 is verified with a secret, not with a public key',
    'endpoints.yml:18:1 trackerstore: unknown key "trackerstore"; did you mean "tracker_store"?',
    'endpoints.yml:19:1 tls: "tls" does not belong here; all routes share one port: use --ssl-certificate and --ssl-keyfile',
  ]);
});

test('mistakes in sub agents are reported', async () => {
  const directory = await copy({
    'sub_agents/rate_finder/config.yml': `agent: {name: request_loan, protocol: grpc}
configuration: {llm: {model_group: mian}, prompt_template: nowhere.txt, timezone: Mars/Base, tool_timeout: 0}
connections:
  mcp_servers:
    - {name: laons, include_tools: [a], exclude_tools: [b]}
`,
    'sub_agents/appraiser/config.yml': `agent: {name: appraiser, protocol: A2A, description: d}
configuration: {agent_card: ../../outside.json, auth: {token: plain}}
connections: {mcp_servers: []}
`,
  });
  const problems = await problemsOf(directory);
  expect(problems).toEqual([
    'data/loan.yml:2:3 flows.request_loan: "request_loan" is also the name of a sub agent; rename one',
    'data/loan.yml:14:15 flows.request_loan.steps[2].call: no flow, sub agent or peer named "rate_finder"',
    'sub_agents/appraiser/config.yml:1:15 agent.name: warning: sub agent "appraiser" is left out: calls of it fail; fix its errors',
    'sub_agents/appraiser/config.yml:2:29 configuration.agent_card: there is no such file in the project; write the path from the project folder',
    'sub_agents/appraiser/config.yml:2:63 configuration.auth.token: warning: a secret is written into this file; write "${TOKEN}"',
    'sub_agents/appraiser/config.yml:3:1 connections: "connections" belongs to agents with protocol RASA',
    'sub_agents/rate_finder/config.yml:1:1 agent: "description" is missing; say what the agent does',
    'sub_agents/rate_finder/config.yml:1:15 agent.name: warning: sub agent "request_loan" is left out: calls of it fail; fix its errors',
    'sub_agents/rate_finder/config.yml:1:39 agent.protocol: must be one of RASA, A2A, but is "grpc"',
    'sub_agents/rate_finder/config.yml:2:36 configuration.llm.model_group: no model group named "mian"; did you mean "main"?',
    'sub_agents/rate_finder/config.yml:2:60 configuration.prompt_template: there is no such file in the project; write the path from the project folder',
    'sub_agents/rate_finder/config.yml:2:83 configuration.timezone: is not a time zone; write one like Europe/Berlin',
    'sub_agents/rate_finder/config.yml:2:108 configuration.tool_timeout: must be a number that is not less than 0.001, but is 0',
    'sub_agents/rate_finder/config.yml:5:14 connections.mcp_servers[0].name: no MCP server named "laons"; did you mean "loans"?',
    'sub_agents/rate_finder/config.yml:5:41 connections.mcp_servers[0].exclude_tools: warning: "include_tools" is there already: both count; keep one of them',
  ]);
});

test('an invalid prompt template is reported', async () => {
  const directory = await copy({ 'prompts/commands.jinja2': 'a\n{% if x %}' });
  expect(await problemsOf(directory)).toEqual([
    'config.yml:9:22 pipeline[0].prompt_template: prompts/commands.jinja2: template, line 2, column 1: this block has no {% endif %}',
  ]);
});

test('a prompt that fails with the values of a conversation is reported with its line', async () => {
  const prompt =
    '{{ current_datetime.strftime("%A") }} {{ active_agent.name }}\n{{ user_message.strftime("%A") }}';
  const directory = await copy({ 'prompts/commands.jinja2': prompt });
  expect(await problemsOf(directory)).toEqual([
    'config.yml:9:22 pipeline[0].prompt_template: prompts/commands.jinja2: template, line 2, column 16: strftime needs a date such as 2026-11-15T10:00',
  ]);
});

test('a prompt of a response that fails is reported with its line', async () => {
  const directory = await copy({
    'domain/chat.yml':
      'responses:\n  utter_chat:\n    - text: Hi\n      metadata:\n        rephrase: true\n        rephrase_prompt: |\n          Say {{ history }}\n          {{ current_input | shout }}\n',
  });
  expect(await problemsOf(directory)).toEqual([
    'domain/chat.yml:6:26 responses.utter_chat[0].metadata.rephrase_prompt: template, line 2, column 20: no filter named shout',
  ]);
});

test('a dollar before braces in responses, flows and prompts is text, whatever the environment has', async () => {
  const directory = await copy({
    'domain/prices.yml': 'responses: {utter_price: [{text: "${loan_amount} and ${HOME}"}]}',
    'prompts/commands.jinja2': 'Costs ${HOME} and ${{ current_slot }}.',
  });
  expect(await problemsOf(directory)).toEqual([]);
  const { project } = await loadProject({ directory }, { ...environment, HOME: '/home/ada' });
  expect(project.domain.responses.get('utter_price')?.[0]?.text).toBe('${loan_amount} and ${HOME}');
  expect(project.files.get('prompts/commands.jinja2')).toContain('${HOME}');
});

test('parts may lie elsewhere; what was named must exist', async () => {
  const directory = await copy();
  const places = {
    config: join(loan, 'config.yml'),
    domain: join(loan, 'domain/slots.yml'),
    data: [join(loan, 'data/loan.yml'), join(loan, 'data/people')],
    endpoints: join(directory, 'no-such.yml'),
    subAgents: join(loan, 'sub_agents'),
  };
  const { project, problems } = await loadProject({ directory, ...places }, environment);
  expect(project.flows.has('check_income')).toBe(true);
  expect(problems.all.map(formatProblem)).toContain(`${directory}/no-such.yml:1:1: does not exist`);
  expect(project.files.get('sub_agents/rate_finder/prompt.jinja2')).toContain('Find a rate');
});

test('an empty folder says what is missing', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'legate-empty-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  expect(await problemsOf(directory)).toEqual([
    'domain.yml:1:1: there is no domain',
    'data:1:1: warning: there is no flow: the assistant has only its patterns to answer with; write one into data/flows.yml',
  ]);
});

test('broken YAML is one clear error, not a hundred', async () => {
  const directory = await copy({ 'domain/slots.yml': 'slots:\n  a: [1, 2\n  b: {\n' });
  const problems = await problemsOf(directory);
  expect(problems[0]).toMatch(/^domain\/slots\.yml:\d+:\d+: invalid YAML/);
  expect(problems.filter((one) => one.includes('no slot named'))).toEqual([]);
});

test('a broken sub agent is not also an unknown one', async () => {
  const directory = await copy({ 'sub_agents/rate_finder/config.yml': 'agent: {' });
  const problems = await problemsOf(directory);
  expect(problems.filter((one) => !one.includes('invalid YAML'))).toEqual([]);
  expect(problems.length).toBeGreaterThan(0);
});

test('the model id depends on the content and on nothing else', async () => {
  const idOf = async (directory: string) => {
    const { project } = await loadProject({ directory }, environment);
    return project.modelId;
  };
  const [first, second] = [
    await copy(),
    await copy({ 'endpoints.yml': '', 'credentials.yml': '' }),
  ];
  await utimes(join(second, 'config.yml'), 1, 1);
  expect(await idOf(first)).toMatch(/^[0-9a-f]{64}$/);
  expect(await idOf(second)).toBe(await idOf(first));
  const changed = await copy({ 'data/people/income.yml': 'flows: {}\n' });
  expect(await idOf(changed)).not.toBe(await idOf(first));
});

test('what is set and has no effect is told', async () => {
  const problems = await problemsOf(
    await copy({
      'config.yml': 'pipeline: [{name: CompactLLMCommandGenerator, minimize_num_calls: false}]',
    }),
  );
  expect(problems).toContainEqual(expect.stringContaining('"minimize_num_calls" has no effect'));
  const rephrasing = 'nlg: {type: rephrase, summarize_history: true}';
  expect(await problemsOf(await copy({ 'endpoints.yml': rephrasing }))).toContainEqual(
    expect.stringContaining('"summarize_history" has no effect'),
  );
});

test('variables are for configuration: in responses and flows a dollar sign before a brace is text', async () => {
  await using folder = await projectFolder({
    'config.yml': 'assistant_id: ${ASSISTANT}\npipeline:\n  - name: MatchingCommandGenerator\n',
    'domain.yml': `
slots:
  price: {type: float}
responses:
  utter_ask_price: [{text: "How many $?"}]
  utter_price: [{text: "That is \${price}, not \${HOME} or $\${HOME}."}]
`,
    'data/flows.yml': `
flows:
  buy:
    description: Buy for \${HOME}.
    steps:
      - collect: price
      - action: utter_price
`,
    'endpoints.yml': 'action_endpoint: {url: "http://${ACTIONS}/webhook"}\nstore: {type: memory}\n',
  });
  const { project, problems } = await loadProject(
    { directory: folder.directory },
    { ASSISTANT: 'shop', ACTIONS: 'actions:5055', HOME: '/root' },
  );
  expect(problems.all).toEqual([]);
  expect(project.name).toBe('shop');
  expect(project.endpoints.actionEndpoint?.url).toBe('http://actions:5055/webhook');
  expect(project.flows.get('buy')?.description).toBe('Buy for ${HOME}.');
  const [variation] = project.domain.responses.get('utter_price') ?? [];
  const said = renderFormat(variation?.text ?? '', { price: 5 });
  expect(said).toBe('That is $5, not ${HOME} or $${HOME}.');
});
