import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { scriptedModel } from '../../models/index.ts';
import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import { llmAgent } from '../llm/llm-agent.ts';
import { Conversation } from '../testing/conversation.ts';
import type { CredentialProvider } from '../tools/credentials.ts';
import type { Tool, ToolContext } from '../tools/tool.ts';
import { openApiTools, type OpenApiToolsOptions } from './openapi-tools.ts';

interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

const servers: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function api(
  answer: (request: Received, response: ServerResponse) => void = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
  },
) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString()));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      received.push({ method, url, headers, body });
      answer({ method, url, headers, body }, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push({
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

const pets: JsonObject = {
  openapi: '3.0.3',
  info: { title: 'Pets' },
  servers: [{ url: 'https://{host}/v1/', variables: { host: { default: 'pets.example' } } }],
  paths: {
    '/pets/{petId}': {
      parameters: [{ name: 'petId', in: 'path', required: true, schema: { type: 'string' } }],
      get: {
        operationId: 'getPet',
        summary: 'Finds a pet.',
        parameters: [
          { $ref: '#/components/parameters/Fields' },
          { name: 'X-Trace', in: 'header', schema: { type: 'string' } },
          { name: 'Authorization', in: 'header', schema: { type: 'string' } },
          { name: 'filter', in: 'query', style: 'deepObject', schema: { type: 'object' } },
          { name: 'petId', in: 'query', description: 'Again.', schema: { type: 'integer' } },
        ],
      },
      delete: { operationId: 'deletePet', security: [{ key: [] }] },
    },
    '/pets': {
      post: {
        operationId: 'create-pet',
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
        },
        security: [{ login: ['write'] }],
      },
      put: {
        requestBody: {
          content: { 'application/x-www-form-urlencoded': { schema: { type: 'object' } } },
        },
      },
    },
    '/upload': {
      post: {
        operationId: 'upload',
        requestBody: { required: true, content: { 'multipart/form-data': {} } },
      },
    },
  },
  components: {
    parameters: {
      Fields: { name: 'fields', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
    },
    schemas: {
      Pet: {
        type: 'object',
        required: ['name'],
        properties: {
          name: { type: 'string', example: 'Rex', nullable: true },
          friends: { type: 'array', items: { $ref: '#/components/schemas/Pet' } },
        },
      },
    },
    securitySchemes: {
      key: { type: 'apiKey', in: 'query', name: 'api_key' },
      login: { type: 'oauth2', flows: {} },
      basic: { type: 'http', scheme: 'basic' },
      cookie: { type: 'apiKey', in: 'cookie', name: 'session' },
      mtls: { type: 'mutualTLS' },
    },
  },
};

async function toolsOf(options: OpenApiToolsOptions = {}, document = pets) {
  const turn = new Conversation(llmAgent({ name: 'a', model: scriptedModel([]) })).turn('x');
  const tools = await openApiTools(document, options).tools(turn);
  const context: ToolContext = {
    callId: 'c',
    agent: 'a',
    turn,
    session: turn.session,
    signal: new AbortController().signal,
    emit: async () => undefined,
    endTurn: () => undefined,
    addUsage: () => undefined,
  };
  const named = new Map(tools.map((each) => [each.name, each]));
  const run = async (name: string, input: JsonValue, more: Partial<ToolContext> = {}) => {
    const tool = named.get(name) as Tool;
    const parsed = await tool.parse(input);
    if (!parsed.ok) throw new Error(parsed.problem);
    return tool.run(parsed.value, { ...context, ...more });
  };
  return { tools, named, run };
}

test('each operation is a tool, named in snake case, with an input of its own', async () => {
  const { tools, named } = await toolsOf();
  expect(tools.map(({ name }) => name)).toEqual([
    'get_pet',
    'delete_pet',
    'put_pets',
    'create_pet',
  ]);
  expect(named.get('get_pet')).toMatchObject({
    description: 'Finds a pet.',
    isIdempotent: true,
    inputSchema: {
      required: ['petId'],
      properties: {
        petId: { type: 'string' },
        fields: { type: 'array' },
        'X-Trace': { type: 'string' },
        filter: { type: 'object' },
        petId_query: { type: 'integer', description: 'Again.' },
      },
    },
  });
  expect(JSON.stringify(named.get('get_pet')?.inputSchema)).not.toContain('Authorization');
  // References are followed, but not in circles.
  expect(named.get('create_pet')?.inputSchema).toMatchObject({
    properties: {
      body: {
        required: ['name'],
        properties: { name: { type: ['string', 'null'] }, friends: { items: {} } },
      },
    },
    required: ['body'],
  });
  expect(named.get('delete_pet')?.description).toBe('DELETE /pets/{petId}');
});

test('values go where the description says', async () => {
  const { url, received } = await api();
  const { run } = await toolsOf({ baseUrl: `${url}/v1/` });
  const input = {
    petId: 'a/b c',
    petId_query: 7,
    fields: ['x', 'y'],
    filter: { age: 3 },
    'X-Trace': 't',
  };
  expect(await run('get_pet', input)).toEqual({ status: 200, body: { ok: true } });
  expect(received[0]).toMatchObject({
    method: 'GET',
    url: '/v1/pets/a%2Fb%20c?fields=x&fields=y&filter%5Bage%5D=3&petId=7',
    headers: { 'x-trace': 't' },
  });
  await run('put_pets', { body: { a: 1, b: 'x y' } });
  expect(received[1]).toMatchObject({
    body: 'a=1&b=x+y',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
});

for (const climb of ['..', '.', '']) {
  test(`a path parameter cannot be "${climb}"`, async () => {
    const { url, received } = await api();
    const { run } = await toolsOf({ baseUrl: url });
    await expect(run('get_pet', { petId: climb })).rejects.toThrow(/cannot be the value of petId/);
    expect(received).toEqual([]);
  });
}

test('no value of a path parameter leaves its segment', async () => {
  const { url, received } = await api();
  const { run } = await toolsOf({ baseUrl: url });
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.string(), fc.constantFrom('../x', '%2e%2e', '?a=b', '#f', '\\..\\', '//h')),
      async (petId) => {
        await run('get_pet', { petId }).catch(() => undefined);
        const last = received.at(-1);
        if (last !== undefined) expect(last.url.split('/').length).toBe(3);
      },
    ),
    { numRuns: 50 },
  );
});

test('inputs that the description does not allow are refused before anything is sent', async () => {
  const { url, received } = await api();
  const { run } = await toolsOf({ baseUrl: url });
  await expect(run('get_pet', {})).rejects.toThrow(/petId/);
  await expect(run('get_pet', { petId: 'x', unknown: 1 })).rejects.toThrow(/unknown/i);
  expect(received).toEqual([]);
});

const provider: CredentialProvider = ({ scheme, scopes, tool }) => {
  if (scheme === 'basic') return { type: 'basic', username: 'u', password: 'p' };
  if (scheme === 'login') return { type: 'bearer', token: `${tool}:${scopes?.join() ?? ''}` };
  return { type: 'api-key', value: 'k' };
};

test('credentials are sent as each scheme wants them', async () => {
  const { url, received } = await api();
  const both = { ...pets, security: [{ basic: [], cookie: [] }] };
  const { run } = await toolsOf({ baseUrl: url, credentials: provider }, both);
  await run('delete_pet', { petId: 'x' });
  expect(received[0]?.url).toBe('/pets/x?api_key=k');
  await run('create_pet', { body: { name: 'Rex' } });
  expect(received[1]).toMatchObject({
    headers: { authorization: 'Bearer create_pet:write' },
    body: '{"name":"Rex"}',
  });
  await run('put_pets', {});
  expect(received[2]?.headers).toMatchObject({
    authorization: `Basic ${Buffer.from('u:p').toString('base64')}`,
    cookie: 'session=k',
  });
});

test('credentials stay off wires that anybody may read, and out of errors', async () => {
  const sent: string[] = [];
  const { run } = await toolsOf({
    baseUrl: 'http://pets.example',
    credentials: provider,
    fetch: (input) => {
      sent.push(input as string);
      throw new TypeError('fetch failed');
    },
  });
  await expect(run('delete_pet', { petId: 'x' })).rejects.toThrow(/use https/);
  expect(sent).toEqual([]);
  const secure = await toolsOf({
    credentials: provider,
    fetch: () => Promise.reject(new TypeError('https://pets.example/?api_key=k')),
  });
  await expect(secure.run('delete_pet', { petId: 'x' })).rejects.toThrow(
    /^https:\/\/pets\.example did not answer$/,
  );
});

test('an agent without a credential asks its caller for consent', async () => {
  const { url, received } = await api();
  const model = scriptedModel([
    { toolCalls: [{ name: 'create_pet', input: { body: { name: 'Rex' } } }] },
    'Made',
  ]);
  let token: string | undefined;
  const agent = llmAgent({
    name: 'a',
    model,
    tools: [openApiTools(pets, { baseUrl: url })],
    credentials: () => (token === undefined ? undefined : { type: 'bearer', token }),
  });
  const conversation = new Conversation(agent);
  const asked = await conversation.say('Make Rex');
  expect(asked.end).toMatchObject({
    kind: 'auth-required',
    parts: [{ data: { scheme: 'login', scopes: ['write'] } }, {}],
  });
  token = 't';
  expect((await conversation.say('done', { taskId: asked.taskId })).text).toBe('Made');
  expect(received[0]?.headers.authorization).toBe('Bearer t');
});

test('calls that change something may need confirmation', async () => {
  const { named } = await toolsOf({ needsConfirmation: 'changes' });
  expect(await named.get('get_pet')?.confirmation({}, {} as ToolContext)).toBe(false);
  expect(await named.get('put_pets')?.confirmation({}, {} as ToolContext)).toBe(true);
});

for (const [name, type, body, expected] of [
  ['JSON', 'application/problem+json', '{"title":"no"}', { title: 'no' }],
  ['text', 'text/plain', 'hello', 'hello'],
  ['JSON that is none', 'application/json', '{oops', '{oops'],
  ['nothing', 'application/json', '', null],
  ['a picture', 'image/png', 'abc', '[3 bytes of image/png]'],
  [
    'too much',
    'application/json',
    `["${'x'.repeat(500)}"]`,
    `["${'x'.repeat(98)}\n[cut after 100 bytes]`,
  ],
] as const) {
  test(`an answer of ${name} is given with its status`, async () => {
    const { url } = await api((_, response) => {
      response.writeHead(418, { 'content-type': type }).end(body);
    });
    const { run } = await toolsOf({ baseUrl: url, maxResponseBytes: 100 });
    expect(await run('get_pet', { petId: 'x' })).toEqual({ status: 418, body: expected });
  });
}

test('redirects are told, not followed', async () => {
  const { url, received } = await api((_, response) => {
    response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
  });
  const { run } = await toolsOf({ baseUrl: url });
  expect(await run('get_pet', { petId: 'x' })).toMatchObject({ status: 302 });
  expect(received).toHaveLength(1);
});

test('operations are chosen by name', async () => {
  expect((await toolsOf({ include: ['get_pet'], prefix: 'p_' })).tools).toMatchObject([
    { name: 'p_get_pet' },
  ]);
  expect((await toolsOf({ exclude: ['get_pet'] })).tools).toHaveLength(3);
  expect(() => openApiTools(pets, { include: ['nope'] })).toThrow(
    /no operation named nope; it has/,
  );
});

test('the limits of a large API count only the operations that are chosen', async () => {
  const large = {
    ...pets,
    components: {
      schemas: {
        Wide: {
          type: 'object',
          properties: Object.fromEntries(
            Array.from({ length: 100 }, (_, at) => [`p${at}`, { type: 'string' }]),
          ),
        },
      },
    },
    paths: Object.fromEntries(
      Array.from({ length: 600 }, (_, at) => [
        `/things/${at}`,
        {
          post: {
            operationId: `make${at}`,
            requestBody: {
              content: { 'application/json': { schema: { $ref: '#/components/schemas/Wide' } } },
            },
          },
        },
      ]),
    ),
  };
  expect((await toolsOf({ include: ['make599'] }, large)).tools).toMatchObject([
    { name: 'make599' },
  ]);
  expect(() => openApiTools(large)).toThrow(
    'the API has 600 operations, more than the limit of 512; include some',
  );
});

test('what cannot work is refused when it is made', () => {
  expect(() => openApiTools({ swagger: '2.0' })).toThrow(/not an OpenAPI 3/);
  expect(() => openApiTools({ ...pets, servers: [{ url: '/v1' }] })).toThrow(/set baseUrl/);
  expect(() => openApiTools({ ...pets, security: [{ mtls: [] }] })).toThrow(
    /of a kind that cannot/,
  );
  expect(() => openApiTools({ ...pets, security: [{ basic: [], cookie: [] }] })).toThrow(
    /several credentials/,
  );
  const foreign = {
    openapi: '3.1.0',
    servers: [{ url: 'https://x.example' }],
    paths: { '/a': { get: { parameters: [{ $ref: 'other.yaml#/x' }] } } },
  };
  expect(() => openApiTools(foreign)).toThrow(/only references within the document/);
});

test('no description, however odd, does anything but become tools or be refused', () => {
  const odd = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<JsonValue>(null, true, 1, 'x', '#/paths', '#/components/x', '#/%', '/a'),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(
        fc.constantFrom(
          '$ref',
          'get',
          'post',
          'parameters',
          'schema',
          'name',
          'in',
          'requestBody',
          'content',
          'properties',
          'items',
          'security',
          '__proto__',
        ),
        tie('value'),
        { maxKeys: 4 },
      ),
    ),
  })).value;
  fc.assert(
    fc.property(odd, odd, (paths, components) => {
      const document = {
        openapi: '3.1.0',
        servers: [{ url: 'https://x.example' }],
        paths: { '/a': paths },
        components,
      };
      try {
        openApiTools(document);
      } catch (error) {
        expect(error).toHaveProperty('code', 'CONFIGURATION_INVALID');
      }
    }),
  );
});
