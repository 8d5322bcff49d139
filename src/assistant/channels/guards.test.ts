import { expect, test } from 'vitest';
import { greenhouseFolder } from '../../../test/support/greenhouse.ts';
import { silentLogger } from '../../telemetry/index.ts';
import { checkWorkers } from './rasa-operations.ts';
import { serveAssistant, type ServeAssistantOptions } from './serve-assistant.ts';
import { served } from './testing/served.ts';

const endpoints = (more: string) => ({
  'endpoints.yml': `a2a_server:\n  description: Looks after a greenhouse.\n${more}\nstore: {type: memory}\n`,
});

const flows = 'flows: {water: {description: Water it., steps: [{collect: plant}]}}';

async function refusal(
  files: Readonly<Record<string, string>>,
  options: Partial<ServeAssistantOptions> = {},
): Promise<string> {
  await using folder = await greenhouseFolder(files);
  const places = { directory: folder.directory };
  return await serveAssistant({ places, environment: {}, ...options }).then(
    async (serving) => {
      await serving.close();
      return 'it was served';
    },
    (error: Error) => error.message,
  );
}

test('a session that starts again after a pause is refused, with its code', async () => {
  const domain =
    'session_config: {start_session_after_expiry: true}\nslots: {plant: {type: text}}\nresponses: {utter_ask_plant: [{text: Which?}]}\n';
  const message = await refusal({ 'domain.yml': domain, 'data/flows.yml': flows });
  expect(message).toContain('[validation.a2a_server.incompatible_session_config]');
  expect(message).toContain('a2a_server requires start_session_after_expiry: false');
  expect(message).toMatch(/domain\.yml:1:1 session_config/);
});

test('the default starts sessions again, so saying nothing is refused as well', async () => {
  const message = await refusal({
    'domain.yml': 'slots: {plant: {type: text}}\nresponses: {utter_ask_plant: [{text: Which?}]}\n',
    'data/flows.yml': flows,
  });
  expect(message).toContain('[validation.a2a_server.incompatible_session_config]');
});

test('several workers on a store in memory are refused, with their code', async () => {
  const message = await refusal({}, { environment: { SANIC_WORKERS: '4' } });
  expect(message).toContain('[validation.a2a_server.incompatible_sanic_workers]');
  expect(message).toContain('SANIC_WORKERS=1');
  expect(message).toContain('durable store');
});

test('with a durable store the limit of workers is lifted', () => {
  const environment = { SANIC_WORKERS: '4' };
  const store = { type: 'sqlite', path: 'x.db' } as const;
  expect(() => checkWorkers(environment, store, silentLogger)).not.toThrow();
  expect(() =>
    checkWorkers({ SANIC_WORKERS: '1' }, { type: 'memory' }, silentLogger),
  ).not.toThrow();
});

test.each([
  ['in a2a_server', endpoints('  tls: {certificate: x.pem}')],
  ['in endpoints.yml', { 'endpoints.yml': 'tls: {certificate: x.pem}\n' }],
])('a tls block %s is refused', async (_, files) => {
  expect(await refusal(files)).toContain('--ssl-certificate');
});

test('a secret in the file is refused and not printed; a missing variable is named', async () => {
  const jwt = (secret: string) =>
    endpoints(`  auth: {type: bearer, jwt: {algorithm: HS256, secret: "${secret}"}}`);
  const written = await refusal(jwt('hunter2hunter2'));
  expect(written).toContain('a2a_server.auth.jwt.secret');
  expect(written).not.toContain('hunter2');
  expect(await refusal(jwt('${GREENHOUSE_SECRET}'))).toContain('GREENHOUSE_SECRET');
});

test('other machines are allowed only where every channel authenticates', async () => {
  const host = '0.0.0.0';
  const open = await refusal({}, { host });
  expect(open).toContain('A2A (set a2a_server.auth)');
  expect(open).toContain('the REST channel');
  const auth = endpoints('  auth: {type: bearer, jwt: {algorithm: HS256, secret: "${SECRET}"}}');
  const closed = { ...auth, 'credentials.yml': 'inspector:\n' };
  const environment = { SECRET: 'a secret that is long enough to be one' };
  expect(await refusal(auth, { host, environment })).toContain('the REST channel');
  expect(await refusal(closed, { host, environment, enableApi: true })).toContain('the HTTP API');
  const token = { host, environment, enableApi: true, api: { token: 't' } };
  expect(await refusal(closed, token)).toBe('it was served');
  expect(await refusal({}, { host, dangerouslyAllowUnauthenticatedRemote: true })).toBe(
    'it was served',
  );
});

test('a page of another origin may not call, unless it is allowed to', async () => {
  await using house = await served({ cors: ['https://shop.example.com'] });
  const body = { sender: 's', message: 'water the Monstera' };
  const from = (origin: string) => house.api('POST', '/webhooks/rest/webhook', body, { origin });
  expect((await from('https://evil.example.com')).status).toBe(403);
  const allowed = await from('https://shop.example.com');
  expect(allowed.status).toBe(200);
  expect(allowed.headers.get('access-control-allow-origin')).toBe('https://shop.example.com');
  const events = { event: 'slot', name: 'plant', value: 'x' };
  const evil = { origin: 'https://evil.example.com' };
  expect((await house.api('POST', '/conversations/c/tracker/events', events, evil)).status).toBe(
    403,
  );
});
