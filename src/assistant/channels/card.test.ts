import { get } from 'node:https';
import { expect, test } from 'vitest';
import { makeCertificate } from '../../../test/certificate.ts';
import { projectFolder } from '../../../test/support/greenhouse.ts';
import { packProject, loadProject } from '../index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import { served, type Served } from './testing/served.ts';

const endpoints = (more: string) => ({
  'endpoints.yml': `a2a_server:\n  description: Looks after a greenhouse.\n${more}\nstore: {type: memory}\n`,
});

async function cardOf(house: Served, path = '/.well-known/agent-card.json'): Promise<JsonObject> {
  return (await house.api('GET', path)).body;
}

function skillsIn(card: JsonObject): readonly string[] {
  return (card['skills'] as readonly { id: string }[]).map(({ id }) => id);
}

test('the card is made of the flows, under its name, its old name and the public address', async () => {
  await using house = await served({
    files: endpoints('  url: https://plants.example.com/agent/'),
  });
  const card = await cardOf(house);
  expect(card).toMatchObject({
    name: 'greenhouse',
    description: 'Looks after a greenhouse.',
    version: house.serving.models.current?.project.modelId,
    url: 'https://plants.example.com/agent',
    capabilities: { streaming: true, pushNotifications: false },
  });
  expect(card['skills']).toContainEqual(
    expect.objectContaining({
      id: 'water_plants',
      name: 'watering',
      description: 'Water a plant.',
    }),
  );
  expect(skillsIn(card)).toContain('pattern_completed');
  expect(await cardOf(house, '/.well-known/agent.json')).toEqual(card);
});

test('include_conversation_repair: false leaves the patterns out', async () => {
  await using house = await served({ files: endpoints('  include_conversation_repair: false') });
  expect(skillsIn(await cardOf(house)).filter((id) => id.startsWith('pattern_'))).toEqual([]);
});

test('without an assistant_id the agent has the usual name', async () => {
  await using house = await served({ files: { 'config.yml': 'language: en\n' } });
  expect(await cardOf(house)).toMatchObject({ name: 'Rasa Agent' });
});

test('without a url the card tells where the server listens', async () => {
  await using house = await served();
  expect(await cardOf(house)).toMatchObject({ url: `http://localhost:${house.serving.port}` });
});

test('with a certificate everything is served over HTTPS, and the card says so', async () => {
  const { certificate, key } = makeCertificate({
    commonName: 'localhost',
    alternativeNames: ['DNS:localhost'],
  });
  await using keys = await projectFolder({ 'cert.pem': certificate, 'key.pem': key });
  const tls = { certificate: keys.path('cert.pem'), key: keys.path('key.pem') };
  await using house = await served({ tls });
  const url = `https://localhost:${house.serving.port}`;
  expect(house.serving.url).toBe(url);
  const card = await new Promise<JsonObject>((resolve, reject) => {
    get(`${url}/.well-known/agent-card.json`, { ca: certificate, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () => resolve(JSON.parse(text) as JsonObject));
    }).on('error', reject);
  });
  expect(card).toMatchObject({ url });
});

test('push_notifications_enabled shows in the card', async () => {
  await using house = await served({ files: endpoints('  push_notifications_enabled: true') });
  expect(await cardOf(house)).toMatchObject({ capabilities: { pushNotifications: true } });
});

test('agent_card_path: the file’s card, at our address', async () => {
  const card = {
    name: 'Hand-made',
    description: 'Its own words.',
    url: 'http://elsewhere.example.com',
    protocolVersion: '0.3.0',
    version: '7',
    capabilities: { streaming: false },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'one', name: 'One', description: 'The only one.', tags: [] }],
  };
  await using house = await served({
    files: {
      ...endpoints('  agent_card_path: ./card.json'),
      'card.json': JSON.stringify(card),
    },
  });
  const shown = await cardOf(house);
  expect(shown).toMatchObject({
    name: 'Hand-made',
    description: 'Its own words.',
    version: '7',
    capabilities: { streaming: false },
    url: `http://localhost:${house.serving.port}`,
  });
  expect(skillsIn(shown)).toEqual(['one']);
});

test('agent_card_path: what is verified and offered is what the card declares, whatever the file says', async () => {
  const card = {
    name: 'Hand-made',
    description: 'Its own words.',
    version: '7',
    supportedInterfaces: [
      { url: 'http://elsewhere.example.com', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: true, pushNotifications: true },
    securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } } },
    securityRequirements: [{ schemes: { key: { list: [] } } }],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'one', name: 'One', description: 'The only one.', tags: [] }],
  };
  const files = {
    ...endpoints('  agent_card_path: ./card.json'),
    'card.json': JSON.stringify(card),
  };
  await using house = await served({ files });
  const shown = await cardOf(house);
  expect(shown).not.toHaveProperty('securitySchemes');
  expect(shown).not.toHaveProperty('security');
  expect(shown).toMatchObject({ capabilities: { streaming: true, pushNotifications: false } });
});

test('a card file that is none keeps the server from starting', async () => {
  const files = { ...endpoints('  agent_card_path: card.json'), 'card.json': '{"name": 1}' };
  await expect(served({ files })).rejects.toThrow('a2a_server.agent_card_path');
  await expect(served({ files: endpoints('  agent_card_path: none.json') })).rejects.toThrow(
    'a2a_server.agent_card_path',
  );
});

test('while the model is made ready the card is a placeholder, and messages fail', async () => {
  const seen: { skills?: unknown; state?: unknown } = {};
  await using house = await served({
    onListening: async (url) => {
      const card = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as JsonObject;
      seen.skills = card['skills'];
      const parts = [{ kind: 'text', text: 'water the Monstera' }];
      const message = { kind: 'message', role: 'user', messageId: 'early', parts };
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'message/send',
        params: { message },
      });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(url, { method: 'POST', headers, body });
      seen.state = (
        (await response.json()) as { result: { status: { state: string } } }
      ).result.status.state;
    },
  });
  expect(seen).toEqual({ skills: [], state: 'failed' });
  expect(skillsIn(await cardOf(house))).toContain('water_plants');
});

test('PUT /model serves another model, and the card shows it', async () => {
  await using house = await served();
  const before = await cardOf(house);
  await house.folder.write({
    'data/more.yml': `
flows:
  sell_plant:
    description: Sell a plant.
    steps: [{collect: plant}]
`,
  });
  const loaded = await loadProject({ directory: house.folder.directory }, {});
  const file = await packProject(loaded, {
    directory: house.folder.path('models'),
    fixedName: 'second',
  });
  expect((await house.api('PUT', '/model', { model_file: file })).status).toBe(204);
  const after = await cardOf(house);
  expect(after).toMatchObject({ version: 'second' });
  expect(skillsIn(before)).not.toContain('sell_plant');
  expect(skillsIn(after)).toContain('sell_plant');
  const status = await house.api('GET', '/status');
  expect(status.body).toMatchObject({ model_file: file, model_id: loaded.project.modelId });
});

test('PUT /model without a file reads the present model again', async () => {
  await using house = await served();
  await house.folder.write({
    'data/more.yml': 'flows: {sell_plant: {description: Sell one., steps: [{collect: plant}]}}',
  });
  expect((await house.api('PUT', '/model', {})).status).toBe(204);
  expect(skillsIn(await cardOf(house))).toContain('sell_plant');
});

test('a model that cannot be loaded leaves everything as it was', async () => {
  await using house = await served();
  const before = await cardOf(house);
  await house.folder.write({ 'broken.tar.gz': 'no archive', 'data/broken.yml': 'flows: [' });
  for (const body of [{ model_file: house.folder.path('broken.tar.gz') }, {}]) {
    const { status, body: failure } = await house.api('PUT', '/model', body);
    expect(status).toBe(400);
    expect(failure).toMatchObject({ status: 'failure', reason: 'BadRequest', code: 400 });
  }
  expect(await cardOf(house)).toEqual(before);
  expect((await house.say('water the Monstera')).status.state).toBe('input-required');
});

test('a conversation continues over a reload, with its own flow changed or not', async () => {
  await using house = await served();
  await house.say('water the Monstera', { contextId: 'c' });
  await house.api('PUT', '/model', {});
  expect((await house.say('5', { contextId: 'c' })).status.state).toBe('completed');
  await house.say('set the shade', { contextId: 'c' });
  await house.folder.write({
    'data/flows.yml':
      'flows: {water_plants: {description: Water a plant., steps: [{collect: plant}]}}',
  });
  await house.api('PUT', '/model', {});
  const changed = await house.say('high', { contextId: 'c' });
  expect(JSON.stringify(changed)).toContain('I was just updated');
});

test('without a2a_server there is no card and no agent, but the channel', async () => {
  await using house = await served({ files: { 'endpoints.yml': 'store: {type: memory}\n' } });
  expect((await house.api('GET', '/.well-known/agent-card.json')).status).toBe(404);
  expect((await house.rpc('message/send', {})).status).toBe(404);
  expect((await house.api('GET', '/health')).status).toBe(200);
  const { body } = await house.api('POST', '/webhooks/rest/webhook', {
    sender: 's',
    message: 'water the Monstera',
  });
  expect(body).toEqual([{ recipient_id: 's', text: 'How many litres?' }]);
});
