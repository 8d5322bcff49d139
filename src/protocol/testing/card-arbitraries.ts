/** Arbitrary agent cards, for property tests only. */
import * as fc from 'fast-check';
import { id, jsonObject, loose, record, url, word, words } from './arbitraries.ts';
import type * as model from '../card-model.ts';

const scopes = fc
  .dictionary(
    word.filter((key) => key !== '__proto__'),
    fc.string(),
    { maxKeys: 3 },
  )
  .map((value) => ({ ...value }));
const flow = (shape: object, required: string[]) =>
  loose({ ...shape, scopes, refreshUrl: url }, [...required, 'scopes']);
const flows = fc.oneof(
  flow({ authorizationUrl: url, tokenUrl: url, pkceRequired: fc.boolean() }, [
    'authorizationUrl',
    'tokenUrl',
  ]).map((value) => ({ authorizationCode: value })),
  flow({ tokenUrl: url }, ['tokenUrl']).map((value) => ({ clientCredentials: value })),
  flow({ deviceAuthorizationUrl: url, tokenUrl: url }, ['deviceAuthorizationUrl', 'tokenUrl']).map(
    (value) => ({ deviceCode: value }),
  ),
  flow({ authorizationUrl: url }, ['authorizationUrl']).map((value) => ({ implicit: value })),
  flow({ tokenUrl: url }, ['tokenUrl']).map((value) => ({ password: value })),
);
const scheme = (shape: object, required: string[]) =>
  loose({ ...shape, description: word }, required);
export const securityScheme = fc.oneof(
  scheme({ location: fc.constantFrom('query', 'header', 'cookie'), name: word }, [
    'location',
    'name',
  ]).map((value) => ({ apiKeySecurityScheme: value })),
  scheme({ scheme: word, bearerFormat: word }, ['scheme']).map((value) => ({
    httpAuthSecurityScheme: value,
  })),
  scheme({ flows, oauth2MetadataUrl: url }, ['flows']).map((value) => ({
    oauth2SecurityScheme: value,
  })),
  scheme({ openIdConnectUrl: url }, ['openIdConnectUrl']).map((value) => ({
    openIdConnectSecurityScheme: value,
  })),
  scheme({}, []).map((value) => ({ mtlsSecurityScheme: value })),
) as fc.Arbitrary<model.SecurityScheme>;

const names = word.filter((key) => key !== '__proto__');
const requirement = fc
  .dictionary(names, fc.record({ list: words }), { maxKeys: 2 })
  .map((schemes) => ({ schemes: { ...schemes } }));
const requirements = fc.array(requirement, { maxLength: 2 });
const skill = record<model.AgentSkill>(
  {
    id: word,
    name: word,
    description: word,
    tags: words,
    examples: words,
    inputModes: words,
    outputModes: words,
    securityRequirements: requirements,
  },
  ['id', 'name', 'description', 'tags'],
);
export const agentCard = record<model.AgentCard>(
  {
    name: word,
    description: word,
    supportedInterfaces: fc.array(
      record<model.AgentInterface>(
        {
          url,
          protocolBinding: fc.constantFrom('JSONRPC', 'HTTP+JSON', 'GRPC'),
          tenant: id,
          protocolVersion: fc.constantFrom('0.3', '1.0', '1.1'),
        },
        ['url', 'protocolBinding', 'protocolVersion'],
      ),
      { minLength: 1, maxLength: 3 },
    ),
    provider: fc.record({ url, organization: word }),
    version: word,
    documentationUrl: url,
    capabilities: record<model.AgentCapabilities>(
      {
        streaming: fc.boolean(),
        pushNotifications: fc.boolean(),
        extensions: fc.array(
          record<model.AgentExtension>(
            { uri: word, description: word, required: fc.boolean(), params: jsonObject },
            ['uri'],
          ),
          { maxLength: 2 },
        ),
        extendedAgentCard: fc.boolean(),
      },
      [],
    ),
    securitySchemes: fc
      .dictionary(names, securityScheme, { maxKeys: 3 })
      .map((value) => ({ ...value })),
    securityRequirements: requirements,
    defaultInputModes: words,
    defaultOutputModes: words,
    skills: fc.array(skill, { maxLength: 2 }),
    signatures: fc.array(
      record<model.AgentCardSignature>({ protected: word, signature: word, header: jsonObject }, [
        'protected',
        'signature',
      ]),
      { maxLength: 1 },
    ),
    iconUrl: url,
  },
  [
    'name',
    'description',
    'supportedInterfaces',
    'version',
    'capabilities',
    'defaultInputModes',
    'defaultOutputModes',
    'skills',
  ],
);
