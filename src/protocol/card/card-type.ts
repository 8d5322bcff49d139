/** The type of a value in the proto. */
export type Type =
  | 'string'
  | 'bool'
  | 'struct'
  | { readonly list: Type }
  | { readonly map: Type }
  | Fields;

/** A message of the proto. */
export interface Fields {
  readonly fields: Readonly<Record<string, Type>>;
  /** The fields that the proto marks as REQUIRED. */
  readonly required: readonly string[];
  /** Rejects unknown members. Elsewhere an unknown member can be one of 0.3. @default false */
  readonly isClosed?: boolean;
}

const strings: Type = { list: 'string' };
const requirements: Type = {
  list: {
    fields: { schemes: { map: { fields: { list: strings }, required: [] } } },
    required: [],
    isClosed: true,
  },
};

/** A flow with these URLs. */
function flow(...urls: readonly string[]): Fields {
  const fields = Object.fromEntries(
    [...urls, 'refreshUrl'].map((name) => [name, 'string'] as const),
  );
  return {
    fields: { ...fields, scopes: { map: 'string' } },
    required: [...urls, 'scopes'],
  };
}

const authorizationCode = flow('authorizationUrl', 'tokenUrl');

export const securityScheme: Fields = {
  fields: {
    apiKeySecurityScheme: {
      fields: { description: 'string', location: 'string', name: 'string' },
      required: ['location', 'name'],
    },
    httpAuthSecurityScheme: {
      fields: { description: 'string', scheme: 'string', bearerFormat: 'string' },
      required: ['scheme'],
    },
    oauth2SecurityScheme: {
      fields: {
        description: 'string',
        oauth2MetadataUrl: 'string',
        flows: {
          fields: {
            authorizationCode: {
              ...authorizationCode,
              fields: { ...authorizationCode.fields, pkceRequired: 'bool' },
            },
            clientCredentials: flow('tokenUrl'),
            implicit: { ...flow('authorizationUrl'), required: [] },
            password: { ...flow('tokenUrl'), required: [] },
            deviceCode: flow('deviceAuthorizationUrl', 'tokenUrl'),
          },
          required: [],
        },
      },
      required: ['flows'],
    },
    openIdConnectSecurityScheme: {
      fields: { description: 'string', openIdConnectUrl: 'string' },
      required: ['openIdConnectUrl'],
    },
    mtlsSecurityScheme: { fields: { description: 'string' }, required: [] },
  },
  required: [],
};

/** The fields that the cards of both versions share. */
const shared: Fields = {
  fields: {
    name: 'string',
    description: 'string',
    provider: {
      fields: { url: 'string', organization: 'string' },
      required: ['organization', 'url'],
    },
    version: 'string',
    documentationUrl: 'string',
    capabilities: {
      fields: {
        streaming: 'bool',
        pushNotifications: 'bool',
        extendedAgentCard: 'bool',
        extensions: {
          list: {
            fields: { uri: 'string', description: 'string', required: 'bool', params: 'struct' },
            required: [],
          },
        },
      },
      required: [],
    },
    defaultInputModes: strings,
    defaultOutputModes: strings,
    skills: {
      list: {
        fields: {
          id: 'string',
          name: 'string',
          description: 'string',
          tags: strings,
          examples: strings,
          inputModes: strings,
          outputModes: strings,
          securityRequirements: requirements,
        },
        required: ['id', 'name', 'description', 'tags'],
      },
    },
    iconUrl: 'string',
  },
  required: [
    'name',
    'description',
    'version',
    'capabilities',
    'defaultInputModes',
    'defaultOutputModes',
    'skills',
  ],
};

/** `AgentCard` of a2a.proto. */
export const agentCard: Fields = {
  fields: {
    ...shared.fields,
    supportedInterfaces: {
      list: {
        fields: {
          url: 'string',
          protocolBinding: 'string',
          tenant: 'string',
          protocolVersion: 'string',
        },
        required: ['url', 'protocolBinding', 'protocolVersion'],
      },
    },
    securitySchemes: { map: securityScheme },
    securityRequirements: requirements,
    signatures: {
      list: {
        fields: { protected: 'string', signature: 'string', header: 'struct' },
        required: ['protected', 'signature'],
      },
    },
  },
  required: ['supportedInterfaces', ...shared.required],
};

/** The shared fields, and the fields of 0.3, which a superset card has beside those of 1.0. */
export const legacyCard: Fields = {
  fields: {
    ...shared.fields,
    url: 'string',
    protocolVersion: 'string',
    preferredTransport: 'string',
    additionalInterfaces: { list: 'struct' },
    security: { list: 'struct' },
    supportsAuthenticatedExtendedCard: 'bool',
  },
  required: ['url', ...shared.required],
};
