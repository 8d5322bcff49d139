import { expect, test } from 'vitest';
import { Field, formatProblem, Problems, readPeers, YamlFile } from './index.ts';

function read(text: string, environment: Record<string, string> = {}) {
  const problems = new Problems();
  const yaml = YamlFile.parse({ file: 'endpoints.yml', text }, problems, { environment });
  const section = Field.root(yaml, problems).section()?.section('peers');
  const settings = section && readPeers(section);
  return { settings, problems: problems.errors.map(formatProblem) };
}

test('a peer is a name on the bus, or has a URL and a header that authenticates us', () => {
  const text = `
peers:
  well_known:
    - archive
    - {name: bob, url: https://bob.example, skill: latin, auth: {header: X-Api-Key, value: "\${KEY}"}}
  questions: {answered_by: trusted_agent, max_rounds: 3}
  timeout_seconds: 60
  tools: dispatch
  embeddings: {model_group: vectors}
  trust: true
`;
  const { settings, problems } = read(text, { KEY: 'secret' });
  expect(problems).toEqual([]);
  expect(settings).toMatchObject({
    wellKnown: [
      { name: 'archive', url: undefined },
      {
        name: 'bob',
        url: 'https://bob.example',
        skill: 'latin',
        auth: { header: 'X-Api-Key', value: 'secret' },
      },
    ],
    questions: { answeredBy: 'trusted_agent', maxRounds: 3 },
    timeoutSeconds: 60,
    tools: 'dispatch',
    embeddingGroup: 'vectors',
    trust: true,
  });
});

test.each([
  ['well_known: [a, A]', 'two peers are named "A"'],
  ['well_known: [https://bob.example]', 'a peer with a URL needs a name'],
  ['well_known: [{url: https://bob.example}]', '"name" is missing'],
  ['well_known: [{name: bob, url: bob.example}]', 'not an http or https URL'],
  [
    'well_known: [{name: bob, url: https://b.example, auth: {header: X-Key, value: abc}}]',
    'a secret must not be written into a file',
  ],
  ['well_known: [{name: bob, auth: {header: X-Key, value: "${KEY}"}}]', '"auth" is for peers'],
  ['well_known: [{name: bob, verify_card: {keys: bob.pem}}]', '"verify_card" is for peers'],
  ['well_known: [{name: bob, url: https://b.example, verify_card: {}}]', '"keys" or "jwks_url"'],
  ['tools: later', 'wait'],
  ['timeout_seconds: 0', 'peers.timeout_seconds'],
  ['embeddings: vectors', 'peers.embeddings'],
  ['embeddings: {}', '"model_group" is missing'],
  ['questions: {by: user}', 'by'],
  ['wellknown: [a]', 'did you mean "well_known"'],
])('%s is refused', (line, said) => {
  const { problems } = read(`peers:\n  ${line}\n`, { KEY: 'x' });
  expect(problems.join('\n')).toContain(said);
});
