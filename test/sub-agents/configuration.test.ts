import { expect, test } from 'vitest';
import { loadProject } from '../../src/assistant/index.ts';
import { formatProblem } from '../../src/config/index.ts';
import { projectFolder } from '../support/greenhouse.ts';
import { trip } from './support.ts';

const agent = 'agent: {name: finder, description: Finds a hotel.}\n';

async function problemsOf(
  files: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  await using folder = await projectFolder({ ...trip, ...files });
  const { problems } = await loadProject({ directory: folder.directory }, environment);
  return problems.all.map((one) => formatProblem(one).replaceAll(`${folder.directory}/`, ''));
}

const config = 'sub_agents/finder/config.yml';

test('errors in the configuration of an agent have a position and a suggestion', async () => {
  const found = await problemsOf({
    [config]: `
agent:
  name: finder
  protcol: RASA
  description: Finds a hotel.
configuration:
  timezone: Mars/Olympus
  startup_check: never
  tool_timeout: 0
  max_iteration: 3
connections:
  mcp_servers:
    - name: hotel
      include_tools: [a]
      exclude_tools: [b]
`,
    'endpoints.yml': 'mcp_servers: [{name: hotels, url: "http://127.0.0.1:1/mcp"}]',
  });
  expect(found).toEqual([
    `${config}:3:9 agent.name: warning: sub agent "finder" is left out: calls of it fail; fix its errors`,
    `${config}:4:3 agent.protcol: unknown key "protcol"; did you mean "protocol"?`,
    `${config}:7:13 configuration.timezone: is not a time zone; write one like Europe/Berlin`,
    `${config}:8:18 configuration.startup_check: must be one of fail, warn, lazy, but is "never"`,
    `${config}:9:17 configuration.tool_timeout: must be a number that is not less than 0.001, but is 0`,
    `${config}:10:3 configuration.max_iteration: unknown key "max_iteration"; did you mean "max_iterations"?`,
    `${config}:13:13 connections.mcp_servers[0].name: no MCP server named "hotel"; did you mean "hotels"?`,
    `${config}:15:7 connections.mcp_servers[0].exclude_tools: warning: "include_tools" is there already: both count; keep one of them`,
  ]);
});

for (const [what, files, expected] of [
  ['an agent without tools', { [config]: agent }, /the agent has no tools; name MCP servers/],
  [
    'an agent without a name',
    { [config]: 'agent: {description: d}\nconfiguration: {module: ./a.ts}\n' },
    /agent: "name" is missing/,
  ],
  [
    'an agent without a description',
    { [config]: 'agent: {name: finder}\nconfiguration: {module: ./a.ts}\n' },
    /"description" is missing; say what the agent does/,
  ],
  [
    'an external agent without a card',
    { [config]: 'agent: {name: finder, protocol: A2A, description: d}\nconfiguration: {}\n' },
    /"agent_card" is missing; a URL, or a file of the project/,
  ],
  [
    'an external agent with tools',
    {
      [config]:
        'agent: {name: finder, protocol: A2A, description: d}\nconfiguration: {agent_card: "http://127.0.0.1"}\nconnections: {mcp_servers: []}\n',
    },
    /"connections" belongs to agents with protocol RASA/,
  ],
  [
    'a card that is not a file of the project',
    {
      [config]:
        'agent: {name: finder, protocol: A2A, description: d}\nconfiguration: {agent_card: card.json}\n',
    },
    /agent_card: there is no such file in the project/,
  ],
  [
    'a secret in plain text',
    {
      [config]:
        'agent: {name: finder, protocol: A2A, description: d}\nconfiguration: {agent_card: "http://127.0.0.1", auth: {token: hunter2}}\n',
    },
    /configuration\.auth\.token: .*\$\{/,
  ],
  [
    'a name that a flow has',
    { [config]: 'agent: {name: weather, description: d}\nconfiguration: {module: ./a.ts}\n' },
    /"weather"/,
  ],
  [
    'a name that another agent has',
    {
      [config]: 'agent: {name: finder, description: d}\nconfiguration: {module: ./a.ts}\n',
      'sub_agents/other/config.yml':
        'agent: {name: finder, description: d}\nconfiguration: {module: ./a.ts}\n',
    },
    /a sub agent named "finder" is already defined in .*; rename one/,
  ],
  [
    'a call of an agent that is not there',
    {
      [config]: 'agent: {name: findr, description: d}\nconfiguration: {module: ./a.ts}\n',
    },
    /no flow, sub agent or peer named "finder"; did you mean "findr"\?/,
  ],
  [
    'a program for tools without a command',
    {
      [config]: 'agent: {name: finder, description: d}\nconfiguration: {module: ./a.ts}\n',
      'endpoints.yml': 'mcp_servers: [{name: hotels, type: stdio}]\n',
    },
    /"command" is missing; the program to start/,
  ],
  [
    'a program for tools with an address',
    {
      [config]: 'agent: {name: finder, description: d}\nconfiguration: {module: ./a.ts}\n',
      'endpoints.yml':
        'mcp_servers: [{name: hotels, type: stdio, command: node, url: "http://127.0.0.1"}]\n',
    },
    /mcp_servers\[0\].url: warning: "url" has no effect and is ignored/,
  ],
  [
    'a secret for a program in plain text',
    {
      [config]: 'agent: {name: finder, description: d}\nconfiguration: {module: ./a.ts}\n',
      'endpoints.yml':
        'mcp_servers: [{name: hotels, type: stdio, command: node, env: {API_KEY: hunter2}}]\n',
    },
    /env\.API_KEY: .*\$\{/,
  ],
] as const) {
  test(`${what} is reported`, async () => {
    const found = await problemsOf(files);
    expect(found.join('\n')).toMatch(expected);
    expect(found.join('\n')).not.toContain('hunter2');
  });
}

test('a program and an address can both be a server of tools', async () => {
  const endpoints = `
mcp_servers:
  - {name: program, type: stdio, command: node, args: [server.ts, 7], env: {PLACE: Rome, API_KEY: "\${KEY}"}}
  - {name: address, type: https, url: "https://tools.example/mcp"}
`;
  await using folder = await projectFolder({
    ...trip,
    [config]: 'agent: {name: finder, description: d}\nconfiguration: {module: ./a.ts}\n',
    'endpoints.yml': endpoints,
  });
  const { project, problems } = await loadProject({ directory: folder.directory }, { KEY: 'k' });
  expect(problems.all).toEqual([]);
  expect([...project.endpoints.mcpServers.values()]).toMatchObject([
    { command: 'node', args: ['server.ts', '7'], env: { PLACE: 'Rome', API_KEY: 'k' } },
    { url: 'https://tools.example/mcp' },
  ]);
});
