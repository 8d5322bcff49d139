import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serve, type Serving } from '../../http/index.ts';
import { fieldsOf, legate, patient } from '../testing/legate-process.ts';
import { rawAgent, rawCard, sendJson } from '../testing/raw-agent.ts';
import { triedAgent } from '../testing/tried-agent.ts';
import { entriesOf, entryNamed } from './catalogue.ts';

let server: Serving;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'legate-catalogue-'));
  server = await serve(triedAgent);
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const base = 'https://registry.example/catalogue.json';
const at = 'https://a.example/card.json';
const card = rawCard('https://a.example');

test.each([
  ['a list', [{ name: 'one', url: at }], { names: ['one'], url: at }],
  ['a list of addresses', [at], { names: [at], url: at }],
  [
    'an AI Catalog',
    {
      entries: [
        {
          identifier: 'urn:one',
          displayName: 'One',
          mediaType: 'application/a2a-agent-card+json',
          url: at,
        },
      ],
    },
    { names: ['urn:one', 'One'], url: at },
  ],
  [
    'a card within',
    { entries: [{ identifier: 'urn:one', inline: card }] },
    { names: ['urn:one', 'Raw'], card },
  ],
  ['cards', { agents: [card] }, { names: ['Raw'], card }],
  [
    'a registry',
    { agents: [{ id: '7', agentCardUrl: 'one/card.json' }] },
    { names: ['7'], url: 'https://registry.example/one/card.json' },
  ],
  [
    'a link set (RFC 9264)',
    { linkset: [{ anchor: base, item: [{ href: at, title: 'one' }] }] },
    { names: ['one'], url: at },
  ],
])('CARD_GET_005: %s is understood', (_, document, entry) => {
  expect(entriesOf(document, base)).toEqual([entry]);
});

test('invalid agents are left out; a card is not accepted as a catalogue', () => {
  const entries = [
    { name: 'tools', url: at, mediaType: 'application/mcp-server+json' },
    { name: 'script', url: 'javascript:alert(1)' },
    { name: 'nowhere' },
    null,
    7,
  ];
  expect(entriesOf({ entries }, base)).toEqual([]);
  expect(entriesOf(card, base)).toBeUndefined();
  expect(entriesOf('text', base)).toBeUndefined();
});

test('entries of any catalogue have names and a card or URL', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string(), (document, name) => {
      for (const entries of [entriesOf(document, base), entriesOf({ agents: [document] }, base)]) {
        for (const { url, card: inner } of entries ?? []) {
          expect(url === undefined).not.toBe(inner === undefined);
        }
        if (entries === undefined || entries.some(({ names }) => names.includes(name))) continue;
        const alike = entries.filter(({ names }) =>
          names.some((one) => one.toLowerCase() === name.toLowerCase()),
        );
        if (alike.length !== 1) expect(() => entryNamed(entries, name, base)).toThrow();
      }
    }),
  );
});

test('names match exactly, else ignoring case; ambiguous names are refused', () => {
  const entries = [
    { names: ['Weather'], url: at },
    { names: ['WEATHER', 'x'], url: base },
    { names: ['twice'], url: at },
    { names: ['twice'], url: base },
  ];
  expect(entryNamed(entries, 'Weather', 'c').url).toBe(at);
  expect(entryNamed(entries, 'X', 'c').url).toBe(base);
  expect(() => entryNamed(entries, 'twice', 'c')).toThrow('2 agents');
  expect(() => entryNamed(entries, 'weather', 'c')).toThrow('2 agents');
});

test(
  'CARD_GET_005: an entry names an agent wherever one is named: address, host and file',
  patient,
  async () => {
    await using registry = await rawAgent(({ path, response }) => {
      const agents = [
        { name: 'tried', url: server.url },
        { name: 'other', url: 'https://other.example' },
      ];
      if (path === '/agents?kind=a2a' || path === '/.well-known/ai-catalog.json') {
        return sendJson(response, { agents });
      }
      return sendJson(response, {}, 404);
    });
    const file = join(folder, 'agents.json');
    writeFileSync(file, JSON.stringify([{ name: 'tried', card: server.router.cards.current }]));
    for (const reference of [
      `${registry.url}/agents?kind=a2a#tried`,
      `${registry.url}#Tried`,
      `${new URL(registry.url).host}#tried`,
      `${file}#tried`,
      `file://${file}#tried`,
    ]) {
      const shown = await legate(['card', '-a', reference]);
      expect({ reference, name: fieldsOf(shown.out)['Name'] }).toEqual({
        reference,
        name: 'tried',
      });
    }
    const sent = await legate(['send', '-a', `${registry.url}#tried`, 'ask']);
    expect(fieldsOf(sent.out)['State']).toBe('TASK_STATE_INPUT_REQUIRED');
    // The command to continue with names the entry, as a shell takes it.
    expect(sent.out).toContain(`legate send -a '${registry.url}#tried' --task-id`);
    expect((await legate(['check', `${registry.url}#tried`, '--read-only'])).code).toBe(0);
  },
);

test('CARD_GET_005: credentials are not sent to the catalogue', patient, async () => {
  await using registry = await rawAgent(({ response }) =>
    sendJson(response, { agents: [{ name: 'tried', url: server.url }] }),
  );
  const env = { A2ACLI_BEARER: 'sesame-open' };
  expect((await legate(['send', `${registry.url}/all#tried`, 'reply'], { env })).code).toBe(0);
  expect(registry.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
});

test('CARD_GET_005: unlisted agents, missing and invalid catalogues', patient, async () => {
  await using registry = await rawAgent(({ path, response, url }) => {
    if (path === '/agents.json') return sendJson(response, { agents: [{ name: 'weather', url }] });
    return path === '/card.json' ? sendJson(response, rawCard(url)) : sendJson(response, {}, 404);
  });
  const failure = async (reference: string) => {
    const { code, out } = await legate(['card', '--json', '-a', `${registry.url}${reference}`]);
    const { error } = JSON.parse(out) as { error: { code: string; message: string; hint: string } };
    return { exit: code, ...error };
  };
  expect(await failure('/agents.json#wether')).toMatchObject({
    exit: 3,
    code: 'A2ACLI_ERR_CARD_NOT_FOUND',
    hint: 'did you mean weather?',
  });
  expect(await failure('/none.json#weather')).toMatchObject({ exit: 3 });
  expect(await failure('/card.json#weather')).toMatchObject({
    exit: 1,
    code: 'A2ACLI_ERR_CARD_INVALID',
  });
  const unnamed = await failure('/agents.json');
  expect(unnamed).toMatchObject({ exit: 1, code: 'A2ACLI_ERR_CARD_INVALID' });
  expect(unnamed.message).toContain('it lists weather');
  expect(unnamed.hint).toContain('/agents.json#weather');
});
