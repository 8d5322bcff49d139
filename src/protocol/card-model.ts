/** The agent card and its members. */
import type { JsonObject } from './model.ts';

/**
 * The organization that runs the agent.
 * @example const provider: AgentProvider = { organization: 'Acme Travel', url: 'https://acme.example' };
 */
export interface AgentProvider {
  readonly url: string;
  readonly organization: string;
}

/**
 * The protocol binding of an interface.
 * @example const preferred: readonly ProtocolBinding[] = ['GRPC', 'HTTP+JSON', 'JSONRPC'];
 */
export type ProtocolBinding = 'JSONRPC' | 'HTTP+JSON' | 'GRPC' | (string & {});

/**
 * One address of an agent, with its binding and version.
 * @example
 * const endpoint: AgentInterface = {
 *   url: 'https://acme.example/a2a',
 *   protocolBinding: 'JSONRPC',
 *   protocolVersion: '1.0',
 * };
 */
export interface AgentInterface {
  readonly url: string;
  readonly protocolBinding: ProtocolBinding;
  readonly tenant?: string;
  /** `Major.Minor`. */
  readonly protocolVersion: string;
}

/**
 * An extension that an agent supports or requires.
 * @example
 * const extension: AgentExtension = {
 *   uri: 'https://example.com/extensions/priority/v1',
 *   required: true, // callers that do not name it are refused
 *   params: { levels: 3 },
 * };
 */
export interface AgentExtension {
  readonly uri: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly params?: JsonObject;
}

/**
 * The optional features of an agent.
 * @example const capabilities: AgentCapabilities = { streaming: true, extendedAgentCard: true };
 */
export interface AgentCapabilities {
  readonly streaming?: boolean;
  readonly pushNotifications?: boolean;
  readonly extensions?: readonly AgentExtension[];
  readonly extendedAgentCard?: boolean;
}

/**
 * Security schemes that a caller must all satisfy, each with its scopes.
 * @example
 * const either: readonly SecurityRequirement[] = [
 *   { schemes: { oauth: { list: ['orders:read'] } } },
 *   { schemes: { apiKey: { list: [] }, mtls: { list: [] } } }, // or both of these
 * ];
 */
export type SecurityRequirement = {
  readonly schemes: { readonly [name: string]: { readonly list: readonly string[] } };
};

/**
 * One thing that an agent can do.
 * @example const skill: AgentSkill = { id: 'latin', name: 'Latin', description: 'English to Latin', tags: [] };
 */
export interface AgentSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly examples?: readonly string[];
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
  readonly securityRequirements?: readonly SecurityRequirement[];
}

/**
 * A JWS over the card.
 * @example
 * function claimedKey({ protected: header }: AgentCardSignature): unknown {
 *   return JSON.parse(Buffer.from(header, 'base64url').toString()).kid; // nothing is verified yet
 * }
 */
export interface AgentCardSignature {
  readonly protected: string;
  readonly signature: string;
  readonly header?: JsonObject;
}

/**
 * A security scheme: exactly one member, named for the kind of the scheme.
 * @example
 * const scheme: SecurityScheme = {
 *   httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' },
 * };
 */
export type SecurityScheme =
  | {
      readonly apiKeySecurityScheme: {
        readonly location: 'query' | 'header' | 'cookie';
        readonly name: string;
        readonly description?: string;
      };
    }
  | {
      readonly httpAuthSecurityScheme: {
        readonly scheme: string;
        readonly bearerFormat?: string;
        readonly description?: string;
      };
    }
  | {
      readonly oauth2SecurityScheme: {
        readonly flows: OAuthFlows;
        readonly oauth2MetadataUrl?: string;
        readonly description?: string;
      };
    }
  | {
      readonly openIdConnectSecurityScheme: {
        readonly openIdConnectUrl: string;
        readonly description?: string;
      };
    }
  | { readonly mtlsSecurityScheme: { readonly description?: string } };

type Scopes = { readonly [scope: string]: string };

/**
 * The OAuth flow of a scheme: exactly one member.
 * @example
 * const flows: OAuthFlows = {
 *   clientCredentials: {
 *     tokenUrl: 'https://login.example.com/token',
 *     scopes: { 'orders:read': 'See orders' },
 *   },
 * };
 */
export type OAuthFlows =
  | {
      readonly authorizationCode: {
        readonly authorizationUrl: string;
        readonly tokenUrl: string;
        readonly scopes: Scopes;
        readonly refreshUrl?: string;
        readonly pkceRequired?: boolean;
      };
    }
  | {
      readonly clientCredentials: {
        readonly tokenUrl: string;
        readonly scopes: Scopes;
        readonly refreshUrl?: string;
      };
    }
  | {
      readonly deviceCode: {
        readonly deviceAuthorizationUrl: string;
        readonly tokenUrl: string;
        readonly scopes: Scopes;
        readonly refreshUrl?: string;
      };
    }
  | {
      readonly implicit: {
        readonly authorizationUrl: string;
        readonly scopes: Scopes;
        readonly refreshUrl?: string;
      };
    }
  | {
      readonly password: {
        readonly tokenUrl: string;
        readonly scopes: Scopes;
        readonly refreshUrl?: string;
      };
    };

/**
 * The agent card: identity, skills, interfaces and security.
 * @example
 * function speaksGrpc(card: AgentCard): boolean {
 *   return card.supportedInterfaces.some(({ protocolBinding }) => protocolBinding === 'GRPC');
 * }
 */
export interface AgentCard {
  readonly name: string;
  readonly description: string;
  readonly supportedInterfaces: readonly AgentInterface[];
  readonly provider?: AgentProvider;
  readonly version: string;
  readonly documentationUrl?: string;
  readonly capabilities: AgentCapabilities;
  readonly securitySchemes?: { readonly [name: string]: SecurityScheme };
  readonly securityRequirements?: readonly SecurityRequirement[];
  readonly defaultInputModes: readonly string[];
  readonly defaultOutputModes: readonly string[];
  readonly skills: readonly AgentSkill[];
  readonly signatures?: readonly AgentCardSignature[];
  readonly iconUrl?: string;
}
