import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Problems } from '../../config/index.ts';
import { assemble } from './load-project.ts';

/** Keys of every file, so that random documents get past the first check. */
const keys = (
  'agent name protocol description configuration connections mcp_servers include_tools exclude_tools ' +
  'agent_card auth api_key token oauth client_id client_secret token_url llm model_group prompt_template ' +
  'timezone pipeline policies language assistant_id flow_retrieval user_input a2a_server url jwt type ' +
  'algorithm secret public_key_path tls max_contexts model_groups id models provider timeout nlg ' +
  'action_endpoint basic_auth headers meta_map static from_slots slot param store slots responses actions ' +
  'session_config values initial_value mappings validation rejections text buttons condition title if utter'
).split(' ');

const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6 },
    fc.constantFrom(
      'x',
      '',
      null,
      true,
      3,
      -1,
      'A2A',
      'HS256',
      'rephrase',
      '${V}',
      'http://x',
      'float',
      'categorical',
    ),
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...keys), tie('tree'), { maxKeys: 6 }),
  ),
}));

test('whatever the files say, a project is assembled with problems and nothing is thrown', async () => {
  const part = (file: string, value: unknown) => ({
    file,
    name: file,
    text: JSON.stringify(value),
  });
  await fc.assert(
    fc.asyncProperty(
      tree,
      tree,
      tree,
      tree,
      tree,
      async (config, domain, endpoints, credentials, agent) => {
        const problems = new Problems();
        const parts = {
          name: 'fuzz',
          directory: '.',
          config: part('config.yml', config),
          domain: [
            part('domain.yml', domain),
            part('more.yml', { slots: domain, responses: agent }),
          ],
          data: [part('flows.yml', { flows: { f: config } })],
          endpoints: part('endpoints.yml', endpoints),
          credentials: part('credentials.yml', credentials),
          subAgents: [
            part('a', agent),
            part('b', { agent: { name: 'b', description: 'd' }, configuration: agent }),
          ],
          subAgentsDirectory: 'sub_agents',
          file: () => Promise.resolve(undefined),
          documents: () => Promise.resolve([]),
        };
        const project = await assemble(parts, { V: '7' }, problems);
        expect(project.domain.slots.size).toBeGreaterThan(10);
        expect(problems.errors.every(({ position }) => position.line > 0)).toBe(true);
      },
    ),
    { numRuns: 300 },
  );
}, 120_000);
