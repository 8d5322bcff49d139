import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { CompactSign, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import { served, type Served } from './testing/served.ts';

/** Every route, with a body that it takes. */
const routes: readonly (readonly [method: string, path: string, body?: unknown])[] = [
  ['GET', '/version'],
  ['GET', '/status'],
  ['GET', '/domain'],
  ['GET', '/flows'],
  ['GET', '/conversations/ada/tracker'],
  ['POST', '/conversations/ada/tracker/events', { event: 'slot', name: 'plant', value: 'x' }],
  ['POST', '/conversations/ada/messages', { text: 'hello' }],
  ['POST', '/conversations/ada/trigger_intent', { name: 'restart' }],
  ['POST', '/cancel_background_tasks/ada'],
  ['PUT', '/model', {}],
  ['DELETE', '/conversations/ada/tracker'],
  ['DELETE', '/model'],
];

async function statuses(
  house: Served,
  suffix = '',
  headers: Record<string, string> = {},
): Promise<readonly number[]> {
  const found = [];
  for (const [method, path, body] of routes) {
    found.push((await house.api(method, path + suffix, body, headers)).status);
  }
  return found;
}

const fine = [200, 200, 200, 200, 200, 200, 200, 200, 200, 204, 204, 204];
const all = (status: number) => routes.map(() => status);

test('without --enable-api there is no API, only webhooks and the status', async () => {
  await using house = await served({ enableApi: false });
  const expected = routes.map(([, path]) => (path === '/status' ? 200 : 404));
  expect(await statuses(house)).toEqual(expected);
  expect((await house.api('GET', '/webhooks/rest/')).body).toEqual({ status: 'ok' });
});

test('with --enable-api and nothing else it is open to this machine', async () => {
  await using house = await served();
  expect(await statuses(house)).toEqual(fine);
});

test.each(['x-forwarded-for', 'x-forwarded-host', 'forwarded', 'via', 'x-real-ip'])(
  'without a credential, a request that a proxy forwarded (%s) is refused',
  async (name) => {
    await using house = await served();
    expect(await statuses(house, '', { [name]: '127.0.0.1' })).toEqual(all(403));
    const { body } = await house.api('PUT', '/model', {}, { [name]: '127.0.0.1' });
    expect(body['message']).toContain('--auth-token');
    await using asked = await served({ api: { token: 'open sesame' } });
    const answers = await statuses(asked, '?token=open%20sesame', { [name]: '10.0.0.1' });
    expect(answers).toEqual(fine);
  },
);

test('an operator may disable authentication', async () => {
  await using house = await served({ dangerouslyAllowUnauthenticatedRemote: true });
  expect(await statuses(house, '', { via: '1.1 proxy' })).toEqual(fine);
});

test('a token and a JWT in one request are refused, as are two tokens', async () => {
  const secret = 'a secret that is long enough to be one';
  const jwt = { secret, algorithm: 'HS256' };
  await using house = await served({ api: { token: 'open sesame', jwt } });
  const signed = await new SignJWT({ user: { role: 'user', username: 'bob' } })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(secret));
  const headers = { authorization: `Bearer ${signed}` };
  expect(await statuses(house, '?token=open%20sesame', headers)).toEqual(all(401));
  expect(await statuses(house, '?token=wrong', headers)).toEqual(all(401));
  expect(await statuses(house, '?token=open%20sesame&token=open%20sesame')).toEqual(all(401));
  expect(await statuses(house, '?token=open%20sesame', { authorization: 'Basic eDp5' })).toEqual(
    all(401),
  );
  expect(await statuses(house, '?token=open%20sesame')).toEqual(fine);
});

test('a JWT that never expires is refused with what to do, unless such tokens are allowed', async () => {
  const secret = 'a secret that is long enough to be one';
  const jwt = { secret, algorithm: 'HS256' };
  const key = new TextEncoder().encode(secret);
  const unsigned = new SignJWT({ user: { role: 'admin' } }).setProtectedHeader({ alg: 'HS256' });
  const headers = { authorization: `Bearer ${await unsigned.sign(key)}` };
  await using house = await served({ api: { jwt } });
  expect(await statuses(house, '', headers)).toEqual(all(401));
  const { body } = await house.api('GET', '/status', undefined, headers);
  expect(body['message']).toContain('give it an exp claim');
  const past = { authorization: `Bearer ${await unsigned.setExpirationTime(1).sign(key)}` };
  expect(await statuses(house, '', past)).toEqual(all(401));
  await using lenient = await served({ api: { jwt: { ...jwt, requireExpiry: false } } });
  expect(await statuses(lenient, '', headers)).toEqual(fine);
  expect(await statuses(lenient, '', past)).toEqual(all(401));
});

test.each(['1e999', '1e300', '9007199254740993'])(
  'a JWT whose exp is %s, which never comes, is refused',
  async (exp) => {
    const secret = 'a secret that is long enough to be one';
    const jwt = { secret, algorithm: 'HS256', requireExpiry: false };
    await using house = await served({ api: { jwt } });
    const signed = (time: string) =>
      // Written by hand: no number of ours is spelled 1e999.
      new CompactSign(new TextEncoder().encode(`{"user":{"role":"admin"},"exp":${time}}`))
        .setProtectedHeader({ alg: 'HS256' })
        .sign(new TextEncoder().encode(secret));
    const headers = { authorization: `Bearer ${await signed(exp)}` };
    expect(await statuses(house, '', headers)).toEqual(all(401));
    const usual = { authorization: `Bearer ${await signed('4102444800.5')}` };
    expect(await statuses(house, '', usual)).toEqual(fine);
  },
);

test('with a token configured, calls without it are refused', async () => {
  await using house = await served({ api: { token: 'open sesame' } });
  expect(await statuses(house)).toEqual(all(401));
  expect(await statuses(house, '?token=wrong')).toEqual(all(401));
  expect(await statuses(house, '?token=open%20sesame')).toEqual(fine);
  const { headers, body } = await house.api('GET', '/status');
  expect(headers.get('www-authenticate')).toMatch(/^Bearer/);
  expect(body).toMatchObject({ status: 'failure', reason: 'NotAuthenticated', code: 401 });
});

test.each([{ token: '' }, { jwt: { secret: '', algorithm: 'HS256' } }])(
  '%j would let everybody in, so it is refused',
  async (api) => {
    await expect(served({ api })).rejects.toThrow('is empty');
  },
);

test('with JWT, a public key verifies tokens and does not make them', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  await using house = await served({ api: { jwt: { secret: publicKey, algorithm: 'ES256' } } });
  const user = { role: 'admin' };
  const signed = await new SignJWT({ user })
    .setProtectedHeader({ alg: 'ES256' })
    .setExpirationTime('1h')
    .sign(createPrivateKey(privateKey));
  const forged = await new SignJWT({ user })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(publicKey));
  const status = async (jwt: string) =>
    (await house.api('GET', '/status', undefined, { authorization: `Bearer ${jwt}` })).status;
  expect(await status(signed)).toBe(200);
  expect(await status(forged)).toBe(401);
});

test('with JWT, an admin may do everything and a user what is the user’s own', async () => {
  const secret = 'a secret that is long enough to be one';
  await using house = await served({ api: { jwt: { secret, algorithm: 'HS256' } } });
  const bearer = async (user: JsonObject, key = secret, alg = 'HS256') => {
    const jwt = await new SignJWT({ user })
      .setProtectedHeader({ alg })
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode(key));
    return { authorization: `Bearer ${jwt}` };
  };
  expect(await statuses(house)).toEqual(all(401));
  const forged = await bearer({ role: 'admin' }, `${secret}!`);
  expect(await statuses(house, '', forged)).toEqual(all(401));
  expect(await statuses(house, '', await bearer({ role: 'admin' }, secret, 'HS512'))).toEqual(
    all(401),
  );
  const other = await bearer({ role: 'user', username: 'bob' });
  expect(await statuses(house, '', other)).toEqual(all(403));
  expect(await statuses(house, '', await bearer({ username: 'ada' }))).toEqual(all(403));
  const ada = await bearer({ role: 'user', username: 'ada' });
  const own = [200, 200, 200, 200, 200];
  expect(await statuses(house, '', ada)).toEqual([403, 403, 403, 403, ...own, 403, 204, 403]);
  expect(await statuses(house, '', await bearer({ role: 'admin' }))).toEqual(fine);
});

test('GET /version, /status, /flows and / say what is served', async () => {
  await using house = await served({ version: '7.8.9' });
  expect((await house.api('GET', '/version')).body).toEqual({
    version: '7.8.9',
    minimum_compatible_version: '7.8.9',
  });
  expect((await house.api('GET', '/')).body).toEqual({ text: 'Hello from Legate: 7.8.9\n' });
  expect((await house.api('GET', '/status')).body).toEqual({
    model_file: house.folder.directory,
    model_id: expect.stringMatching(/^[0-9a-f]{64}$/),
    num_active_training_jobs: 0,
  });
  const flows = (await house.api('GET', '/flows')).body as unknown as readonly JsonObject[];
  expect(flows.map(({ id }) => id)).toEqual([
    'water_plants',
    'set_shade',
    'growth_report',
    'start_pump',
    'wait_for_rain',
  ]);
  expect(JSON.stringify(flows)).not.toContain(house.folder.directory);
});

test('GET /domain as JSON, and as YAML where it is asked for', async () => {
  await using house = await served();
  const { body } = await house.api('GET', '/domain');
  expect(body).toMatchObject({ slots: { plant: { type: 'text' } } });
  const yaml = await house.api('GET', '/domain', undefined, { accept: 'application/yaml' });
  expect(parse(yaml.body['text'] as string)).toEqual(body);
});

test('a tracker shows the whole conversation, or as much as is asked for', async () => {
  await using house = await served();
  await house.say('water the Monstera', { contextId: 'ada' });
  const tracker = await house.tracker('ada');
  expect(tracker).toMatchObject({
    sender_id: 'ada',
    slots: { plant: 'Monstera' },
    latest_input_channel: 'a2a',
    latest_action_name: 'action_listen',
    stack: [
      { flow_id: 'water_plants', type: 'flow', frame_type: 'regular' },
      { type: 'pattern_collect_information' },
    ],
  });
  expect(tracker.events.map(({ event }) => event)).toEqual(
    expect.arrayContaining(['session_started', 'user', 'flow_started', 'bot', 'slot', 'stack']),
  );
  const applied = await house.api('GET', '/conversations/ada/tracker?include_events=APPLIED');
  expect(applied.body['events']).toEqual(tracker.events);
  const none = await house.api('GET', '/conversations/ada/tracker?include_events=NONE');
  expect(none.body).toMatchObject({ sender_id: 'ada', events: [] });
  await house.say('restart', { contextId: 'ada' });
  const after = (await house.tracker('ada')).events;
  const every = await house.api('GET', '/conversations/ada/tracker?include_events=ALL');
  expect(after[0]).toMatchObject({ event: 'restart' });
  expect((every.body['events'] as unknown[]).length).toBeGreaterThan(after.length);
  const again = await house.api('GET', '/conversations/ada/tracker?include_events=APPLIED');
  expect(again.body['events']).toEqual(after);
});

test('a tracker shows the conversation as it was until a time', async () => {
  let now = 1_000_000_000_000;
  await using house = await served({ build: { clock: { now: () => now } } });
  await house.say('water a plant', { contextId: 'ada' });
  const { stack, events, current_session_id: session } = await house.tracker('ada');
  now += 60_000;
  await house.say('Monstera', { contextId: 'ada' });
  expect((await house.tracker('ada'))['slots']).toMatchObject({ plant: 'Monstera' });
  const at = async (time: number) =>
    (await house.api('GET', `/conversations/ada/tracker?until=${time}`)).body;
  expect(await at(1_000_000_000)).toMatchObject({
    sender_id: 'ada',
    current_session_id: session,
    slots: { plant: null, watered: 0 },
    latest_message: { text: 'water a plant' },
    stack,
    events,
  });
  expect(await at(1_000_000_060)).toEqual(await house.tracker('ada'));
  expect(await at(999_999_999)).toMatchObject({ events: [], stack: [], slots: { plant: null } });
});

test.each(['a2a', 'rest'])(
  'POST /cancel_background_tasks/{id} ends what is at work (%s)',
  async (door) => {
    await using house = await served();
    await house.say('water a plant', { contextId: 'other' });
    const asked = await house.say('water a plant', { contextId: 'ada' });
    const text = 'wait for the rain';
    const working =
      door === 'a2a'
        ? house.say(text, { contextId: 'ada' })
        : house.api('POST', '/webhooks/rest/webhook', { sender: 'ada', message: text });
    await expect.poll(() => house.gate.entered).toBe(1);
    const { body } = await house.api('POST', '/cancel_background_tasks/ada');
    expect(body).toEqual({ cancelled_tasks: [expect.any(String)] });
    const answer = await working;
    // A task takes its flows along; a message that was not answered leaves no trace.
    const { stack } = await house.tracker('ada');
    if (door === 'a2a') {
      expect(answer).toMatchObject({ status: { state: 'canceled' } });
      expect(stack).toEqual([]);
    } else {
      expect(answer).toMatchObject({ status: 503 });
      expect(stack).toMatchObject([{ flow_id: 'water_plants' }, {}]);
    }
    const none = await house.api('POST', '/cancel_background_tasks/other');
    expect(none.body).toEqual({ cancelled_tasks: [] });
    expect((await house.tracker('other'))['stack']).not.toEqual([]);
    expect(asked.status.state).toBe('input-required');
  },
);

test('POST /cancel_background_tasks/{id} cancels all queued tasks before they start', async () => {
  await using house = await served();
  const send = () =>
    house.say('wait for the rain', { contextId: 'ada', configuration: { blocking: false } });
  const running = await send();
  await expect.poll(() => house.gate.entered).toBe(1);
  const queued: string[] = [];
  for (let left = 101; left > 0; left -= 1) queued.push((await send()).id);
  const { body } = await house.api('POST', '/cancel_background_tasks/ada');
  expect(new Set(body['cancelled_tasks'] as string[])).toEqual(new Set([running.id, ...queued]));
  expect(house.gate.entered).toBe(1);
});

test.each([
  ['GET', '/conversations/ada/tracker?include_events=SOME', undefined, 400],
  ['GET', '/conversations/ada/tracker?until=noon', undefined, 400],
  ['GET', '/conversations/%E0%A4%A/tracker', undefined, 400],
  ['POST', '/conversations/ada/tracker/events', '{', 400],
  ['POST', '/conversations/ada/tracker/events', [{ name: 'x' }], 400],
  ['POST', '/conversations/ada/tracker/events', 7, 400],
  ['POST', '/conversations/ada/messages', { text: 5 }, 400],
  ['POST', '/conversations/ada/messages', { text: 'x', sender: 'bot' }, 400],
  ['POST', '/conversations/ada/messages', [], 400],
  ['POST', '/conversations/ada/trigger_intent', { name: '../x' }, 400],
  ['POST', '/conversations/ada/trigger_intent', { name: 'unheard_of' }, 404],
  ['PUT', '/model', { model_file: 5 }, 400],
  ['PUT', '/model', { model_file: '/nowhere.tar.gz' }, 400],
  ['PATCH', '/model', {}, 405],
] as const)('%s %s with %j is answered %i', async (method, path, body, status) => {
  await using house = await served();
  const answer = await house.api(method, path, body);
  expect(answer.status).toBe(status);
  expect(answer.body).toMatchObject({
    status: 'failure',
    code: status,
    message: expect.any(String),
  });
});

test('an invalid choice is shown beside the valid ones', async () => {
  await using house = await served();
  const answer = await house.api('GET', '/conversations/ada/tracker?include_events=SOME');
  expect(JSON.stringify(answer.body)).toContain('ALL, APPLIED, AFTER_RESTART, NONE, but is');
  expect(JSON.stringify(answer.body)).toContain('SOME');
});

test('events of the outside become part of the conversation, within its rules', async () => {
  await using house = await served();
  const posted = await house.api('POST', '/conversations/ada/tracker/events', [
    { event: 'slot', name: 'plant', value: 'Monstera' },
    { event: 'stack', update: '[]' },
  ]);
  expect(posted.body).toMatchObject({ slots: { plant: 'Monstera', litres: null } });
  expect(await house.say('water a plant', { contextId: 'ada' })).toMatchObject({
    status: { state: 'input-required' },
  });
});

test.each<[JsonValue, string]>([
  [{ event: 'sing' }, '[1]: no event type named "sing"'],
  [{ event: 'slots', name: 'plant' }, '[1]: no event type named "slots"; did you mean "slot"?'],
  [{ event: 7 }, '[1]: event: must be a text'],
  ['restart', '[1]: must be an object with the field event'],
  [{ event: 'slot', name: 'plant' }, '[1]: value: is missing'],
  [{ event: 'slot', value: 1 }, '[1]: name: '],
  [
    { event: 'slot', name: 'plnat', value: 1 },
    '[1]: name: no slot named "plnat"; did you mean "plant"?',
  ],
  [
    { event: 'slot', name: 'litres', value: 'many' },
    "[1]: value: slot litres of type float can't hold it",
  ],
  [{ event: 'slot', name: 'plant', value: 'x'.repeat(70_000) }, '[1]: value: is larger than'],
  [{ event: 'followup' }, '[1]: name: '],
  [{ event: 'followup', name: null }, '[1]: name: '],
  [
    { event: 'followup', name: 'action_watr' },
    '[1]: name: no action named "action_watr"; did you mean "action_water"?',
  ],
  [{ event: 'followup', name: 'action_agent_request_user_input' }, '[1]: name: no action named'],
  [{ event: 'user', text: { a: 1 } }, '[1]: text: '],
  [{ event: 'user', text: 'hi', parse_data: [] }, '[1]: parse_data: '],
  [{ event: 'bot', data: 'x' }, '[1]: data: '],
  [{ event: 'restart', timestamp: 'now' }, '[1]: timestamp: '],
  [{ event: 'restart', timestamp: 1e300 }, '[1]: timestamp: '],
  [{ event: 'restart', metadata: 'x' }, '[1]: metadata: '],
  [{ event: 'flow_started' }, '[1]: flow_id: '],
  [{ event: 'entities', entities: 'x' }, '[1]: entities: '],
])(
  'the posted event %j is refused with its index and reason, and nothing is taken',
  async (event, reason) => {
    await using house = await served();
    const fine: JsonObject = { event: 'slot', name: 'plant', value: 'Monstera' };
    const path = '/conversations/ada/tracker/events';
    const answer = await house.api('POST', path, [fine, event]);
    expect(answer.status).toBe(400);
    expect(answer.body['message']).toContain(reason);
    expect((await house.tracker('ada'))['slots']).toMatchObject({ plant: null });
    expect((await house.say('water a plant', { contextId: 'ada' })).status.state).toBe(
      'input-required',
    );
  },
);

test.each(['action_listen', 'action_session_start', 'action_water', 'utter_ask_plant'])(
  'a posted followup may name %s, and the next message is answered',
  async (name) => {
    await using house = await served();
    const answer = await house.api('POST', '/conversations/ada/tracker/events', {
      event: 'followup',
      name,
    });
    expect(answer.status).toBe(200);
    expect((await house.say('water a plant', { contextId: 'ada' })).status.state).not.toBe(
      'failed',
    );
  },
);

test('section 7: a posted rewind takes the last message back; ALL shows it, APPLIED does not', async () => {
  await using house = await served();
  await house.say('water a plant', { contextId: 'ada' });
  const { slots, stack, latest_message: latest } = await house.tracker('ada');
  await house.say('Monstera', { contextId: 'ada' });
  const path = '/conversations/ada/tracker';
  const posted = await house.api('POST', `${path}/events?include_events=APPLIED`, {
    event: 'rewind',
  });
  expect(posted.body).toMatchObject({ slots, stack, latest_message: latest });
  const texts = (body: JsonObject) =>
    (body['events'] as readonly JsonObject[])
      .filter(({ event }) => event === 'user')
      .map(({ text }) => text);
  expect(texts(posted.body)).toEqual(['water a plant']);
  const shown = async (include: string) =>
    texts((await house.api('GET', `${path}?include_events=${include}`)).body);
  expect(await shown('ALL')).toEqual(['water a plant', 'Monstera']);
  expect(await shown('AFTER_RESTART')).toEqual(['water a plant', 'Monstera']);
  await house.say('Ficus', { contextId: 'ada' });
  expect(await shown('APPLIED')).toEqual(['water a plant', 'Ficus']);
  expect((await house.tracker('ada'))['slots']).toMatchObject({ plant: 'Ficus' });
  const now = Date.now() / 1000 + 60;
  const { body } = await house.api('GET', `${path}?until=${now}`);
  expect(body).toEqual(await house.tracker('ada'));
});

test('a message is recorded without an answer; an intent is answered', async () => {
  await using house = await served();
  const heard = await house.api('POST', '/conversations/ada/messages', { text: 'hello' });
  expect(heard.body).toMatchObject({ latest_message: { text: 'hello' } });
  const events = heard.body['events'] as readonly JsonObject[];
  expect(events.some(({ event }) => event === 'bot')).toBe(false);
  await house.say('water the Monstera', { contextId: 'ada' });
  const { body } = await house.api('POST', '/conversations/ada/trigger_intent', {
    name: 'restart',
  });
  expect(body).toMatchObject({ messages: [], tracker: { stack: [], slots: { plant: null } } });
});

test('the output channel `latest` of a triggered intent is the last channel of the conversation', async () => {
  await using house = await served();
  const channelAfter = async (id: string, query = '') => {
    const path = `/conversations/${id}/trigger_intent${query}`;
    const { body } = await house.api('POST', path, { name: 'session_start' });
    return (body['tracker'] as JsonObject)['latest_input_channel'];
  };
  expect(await channelAfter('ada')).toBe('api');
  await house.say('hello', { contextId: 'bob' });
  expect(await channelAfter('bob', '?output_channel=latest')).toBe('a2a');
  expect(await channelAfter('bob', '?output_channel=kiosk')).toBe('kiosk');
  expect(await channelAfter('bob')).toBe('kiosk');
});

test('a deleted tracker is forgotten', async () => {
  await using house = await served();
  await house.say('water the Monstera', { contextId: 'ada' });
  expect((await house.api('DELETE', '/conversations/ada/tracker')).status).toBe(204);
  expect(await house.tracker('ada')).toMatchObject({ slots: { plant: null }, events: [] });
});

test('without a model the API says so', async () => {
  await using house = await served();
  await house.api('DELETE', '/model');
  for (const [method, path, body] of routes.slice(1, 8)) {
    const answer = await house.api(method, path, body);
    expect(answer.status).toBe(409);
    expect(answer.body).toMatchObject({ reason: 'Conflict' });
  }
  expect((await house.api('GET', '/version')).status).toBe(200);
  expect((await house.api('PUT', '/model', {})).status).toBe(204);
  expect((await house.api('GET', '/status')).status).toBe(200);
});
