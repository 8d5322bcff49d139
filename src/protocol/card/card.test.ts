import { describe, expect, test } from 'vitest';
import type { AgentCard } from '../card-model.ts';
import { readAgentCard, supersetCard } from '../index.ts';

const legacy = {
  protocolVersion: '0.3.0',
  name: 'Agent',
  description: 'Does things',
  url: 'https://e.com/rpc',
  version: '2.1',
  capabilities: { streaming: true, stateTransitionHistory: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 's', name: 'S', description: 'd', tags: ['t'], security: [{ key: ['a'] }] }],
  supportsAuthenticatedExtendedCard: true,
  securitySchemes: {
    key: { type: 'apiKey', in: 'header', name: 'X-Key', description: 'd' },
    bearer: { type: 'http', scheme: 'Bearer', bearerFormat: 'JWT' },
    oidc: { type: 'openIdConnect', openIdConnectUrl: 'https://e.com/oidc' },
    tls: { type: 'mutualTLS' },
    odd: { type: 'palmReader' },
  },
  security: [{ key: [], bearer: [] }, { oidc: ['x'] }],
};

describe('a 0.3 card is read into the model', () => {
  const card = readAgentCard(legacy);

  test('its url becomes an interface of version 0.3', () => {
    expect(card.supportedInterfaces).toEqual([
      { url: 'https://e.com/rpc', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ]);
  });

  test.each([
    ['0.3', '0.3'],
    ['0.3.0', '0.3'],
    ['0.2.6', '0.3'],
    [undefined, '0.3'],
    ['1.0', '1.0'],
  ])('a card of version %s speaks %s', (protocolVersion, spoken) => {
    const read = readAgentCard({ ...legacy, protocolVersion });
    expect(read.supportedInterfaces[0]?.protocolVersion).toBe(spoken);
  });

  test('additional interfaces follow the preferred one, each once', () => {
    const read = readAgentCard({
      ...legacy,
      preferredTransport: 'HTTP+JSON',
      additionalInterfaces: [
        { url: 'https://e.com/rpc', transport: 'HTTP+JSON' },
        { url: 'https://e.com/rpc', transport: 'JSONRPC' },
        { url: 'e.com:443', transport: 'GRPC' },
      ],
    });
    expect(read.supportedInterfaces.map((item) => [item.url, item.protocolBinding])).toEqual([
      ['https://e.com/rpc', 'HTTP+JSON'],
      ['https://e.com/rpc', 'JSONRPC'],
      ['e.com:443', 'GRPC'],
    ]);
  });

  test('the extended card becomes a capability, and what 1.x dropped is dropped', () => {
    expect(card.capabilities).toEqual({ streaming: true, extendedAgentCard: true });
  });

  test('schemes are read by their type, and those of unknown type are left out', () => {
    expect(card.securitySchemes).toEqual({
      key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key', description: 'd' } },
      bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
      oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://e.com/oidc' } },
      tls: { mtlsSecurityScheme: {} },
    });
  });

  test('requirements are read, of the card and of its skills', () => {
    expect(card.securityRequirements).toEqual([
      { schemes: { key: { list: [] }, bearer: { list: [] } } },
      { schemes: { oidc: { list: ['x'] } } },
    ]);
    expect(card.skills[0]?.securityRequirements).toEqual([{ schemes: { key: { list: ['a'] } } }]);
  });

  test('a 0.3 card in ProtoJSON is read too', () => {
    const read = readAgentCard({
      name: 'Agent',
      protocol_version: '0.3.0',
      url: 'https://e.com',
      preferred_transport: 'GRPC',
      security_schemes: { key: { api_key_security_scheme: { location: 'query', name: 'k' } } },
      security: [{ schemes: { key: { list: ['a'] }, other: {} } }],
      supports_authenticated_extended_card: false,
    });
    expect(read).toEqual({
      name: 'Agent',
      description: '',
      version: '',
      supportedInterfaces: [
        { url: 'https://e.com', protocolBinding: 'GRPC', protocolVersion: '0.3' },
      ],
      capabilities: { extendedAgentCard: false },
      defaultInputModes: [],
      defaultOutputModes: [],
      skills: [],
      securitySchemes: { key: { apiKeySecurityScheme: { location: 'query', name: 'k' } } },
      securityRequirements: [{ schemes: { key: { list: ['a'] }, other: { list: [] } } }],
    });
  });

  test('a scheme named "schemes" is not read as a wrapper', () => {
    const read = readAgentCard({ ...legacy, security: [{ schemes: ['a'] }] });
    expect(read.securityRequirements).toEqual([{ schemes: { schemes: { list: ['a'] } } }]);
  });
});

describe('an OAuth scheme with several flows becomes several schemes', () => {
  const scopes = { read: 'Read' };
  const flows = {
    clientCredentials: { tokenUrl: 'https://e.com/token', scopes },
    authorizationCode: {
      authorizationUrl: 'https://e.com/auth',
      tokenUrl: 'https://e.com/token',
      scopes,
    },
  };
  const card = readAgentCard({
    ...legacy,
    securitySchemes: {
      oauth: { type: 'oauth2', flows, description: 'd' },
      oauth_clientCredentials: { type: 'mutualTLS' },
    },
    security: [{ oauth: ['read'], oauth_clientCredentials: [] }],
  });

  test('the first keeps the name, the others add their flow and push no other scheme aside', () => {
    expect(card.securitySchemes).toEqual({
      oauth: {
        oauth2SecurityScheme: {
          flows: { authorizationCode: flows.authorizationCode },
          description: 'd',
        },
      },
      oauth_clientCredentials: { mtlsSecurityScheme: {} },
      oauth_clientCredentials_: {
        oauth2SecurityScheme: {
          flows: { clientCredentials: flows.clientCredentials },
          description: 'd',
        },
      },
    });
  });

  test('each of them satisfies the requirement', () => {
    expect(card.securityRequirements).toEqual([
      { schemes: { oauth: { list: ['read'] }, oauth_clientCredentials: { list: [] } } },
      {
        schemes: {
          oauth_clientCredentials_: { list: ['read'] },
          oauth_clientCredentials: { list: [] },
        },
      },
    ]);
  });

  const split = (count: number) => Array.from({ length: count }, (_, index) => `o${index}`);
  const read = (...security: (readonly string[])[]) =>
    readAgentCard({
      ...legacy,
      securitySchemes: Object.fromEntries(
        split(40).map((name) => [name, { type: 'oauth2', flows }]),
      ),
      security: security.map((names) => Object.fromEntries(names.map((name) => [name, []]))),
    }).securityRequirements ?? [];

  test('requirements of many split schemes do not multiply without end', () => {
    expect(read(split(40))).toHaveLength(4);
    expect(read(...split(40).map(() => split(3)))).toHaveLength(64 + 32);
  });

  test('a requirement of many names is not repeated for each of their flows', () => {
    const names = [...split(6), ...Array.from({ length: 1000 }, (_, index) => `other${index}`)];
    const [first, ...more] = read(names);
    expect(Object.keys(first?.schemes ?? {}).toSorted()).toEqual(names.toSorted());
    expect(more).toEqual([]);
  });
});

describe('a superset card', () => {
  const card: AgentCard = {
    name: 'Agent',
    description: 'd',
    version: '1',
    supportedInterfaces: [
      { url: 'https://e.com/1', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: 'https://e.com/0', protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
      { url: 'https://e.com/0', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ],
    capabilities: { extendedAgentCard: true },
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [
      {
        id: 's',
        name: 's',
        description: '',
        tags: [],
        securityRequirements: [{ schemes: { key: { list: [] } } }],
      },
    ],
    securitySchemes: {
      key: { apiKeySecurityScheme: { location: 'cookie', name: 'k' } },
      device: {
        oauth2SecurityScheme: {
          flows: {
            deviceCode: { deviceAuthorizationUrl: 'https://d', tokenUrl: 'https://t', scopes: {} },
          },
        },
      },
      code: {
        oauth2SecurityScheme: {
          flows: {
            authorizationCode: {
              authorizationUrl: 'https://a',
              tokenUrl: 'https://t',
              scopes: {},
              pkceRequired: true,
            },
          },
        },
      },
    },
    securityRequirements: [{ schemes: { key: { list: ['a'] } } }],
  };

  test('has the fields of 0.3 beside those of 1.x, on every level', () => {
    expect(supersetCard(card)).toMatchObject({
      ...card,
      protocolVersion: '0.3.0',
      url: 'https://e.com/0',
      preferredTransport: 'HTTP+JSON',
      additionalInterfaces: [
        { url: 'https://e.com/0', transport: 'HTTP+JSON' },
        { url: 'https://e.com/0', transport: 'JSONRPC' },
      ],
      supportsAuthenticatedExtendedCard: true,
      security: [{ key: ['a'] }],
      skills: [{ ...card.skills[0], security: [{ key: [] }] }],
      securitySchemes: {
        key: { ...card.securitySchemes?.key, type: 'apiKey', in: 'cookie', name: 'k' },
        device: { ...card.securitySchemes?.device, type: 'oauth2', flows: {} },
        code: { ...card.securitySchemes?.code, type: 'oauth2' },
      },
    });
  });

  test('is read back as the card it was made from', () => {
    expect(readAgentCard(JSON.parse(JSON.stringify(supersetCard(card))))).toEqual(card);
  });

  test('lost to 0.3 readers: the device code flow, pkceRequired', () => {
    const { securitySchemes } = supersetCard(card) as unknown as {
      securitySchemes: Record<string, { flows: object }>;
    };
    expect(securitySchemes.device?.flows).toEqual({});
    expect(securitySchemes.code?.flows).toEqual({
      authorizationCode: { authorizationUrl: 'https://a', tokenUrl: 'https://t', scopes: {} },
    });
  });

  test('a card without a 0.3 interface stays as it is', () => {
    const pure = { ...card, supportedInterfaces: card.supportedInterfaces.slice(0, 1) };
    expect(supersetCard(pure)).toBe(pure);
  });

  test('of another make, whose list lacks the 0.3 address, gives that address too', () => {
    const foreign = {
      ...legacy,
      supportedInterfaces: [
        { url: 'https://e.com/1', protocolBinding: 'JSONRPC', protocolVersion: '1.0.0' },
      ],
    };
    const versions = readAgentCard(foreign).supportedInterfaces.map((item) => item.protocolVersion);
    expect(versions).toEqual(['1.0', '0.3']);
  });
});

describe('a card is refused', () => {
  test.each([
    [{ ...legacy, name: undefined }, 'name'],
    [{ ...legacy, url: undefined }, 'supportedInterfaces'],
    [{ ...legacy, url: 7 }, 'url'],
    [{ ...legacy, skills: [{}] }, 'skills[0].id'],
    [{ ...legacy, capabilities: { streaming: 'yes' } }, 'capabilities.streaming'],
    [{ ...legacy, securitySchemes: { a: 1 } }, 'securitySchemes.a'],
    [
      { ...legacy, securitySchemes: { a: { type: 'apiKey', in: 'body', name: 'x' } } },
      'securitySchemes.a.location',
    ],
    [
      { ...legacy, securitySchemes: { a: { type: 'oauth2', flows: { password: {} } } } },
      'securitySchemes.a.flows.password.tokenUrl',
    ],
    [
      { ...legacy, supportedInterfaces: [{ url: 'https://e.com' }] },
      'supportedInterfaces[0].protocolBinding',
    ],
  ])('%j', (card, path) => {
    expect(() => readAgentCard(card)).toThrow(
      expect.objectContaining({
        code: 'INVALID_PARAMS',
        violations: expect.arrayContaining([expect.objectContaining({ field: path })]),
      }),
    );
  });
});
