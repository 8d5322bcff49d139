import type { AgentCard, SecurityScheme } from '../../protocol/index.ts';
import type { LoginFlow } from '../commands/agents.ts';
import { CommandFailure } from './failure.ts';
import type { OpenIdProvider } from './openid.ts';

/** How to get a token from the authorization server of an agent. */
export type Flow = FlowKind & {
  readonly tokenUrl: string;
  /** The default scopes. */
  readonly scopes: readonly string[];
  /** Set when the authorization server is an OpenID provider. */
  readonly provider?: OpenIdProvider;
};

type FlowKind =
  | { readonly kind: 'device-code'; readonly deviceAuthorizationUrl: string }
  | { readonly kind: 'authorization-code'; readonly authorizationUrl: string }
  | { readonly kind: 'client-credentials' };

/** The requested flow, else the first supported flow of the card. */
export async function flowOf(
  card: AgentCard,
  wanted: LoginFlow | undefined,
  discover: (url: string) => Promise<OpenIdProvider>,
): Promise<Flow> {
  for (const [name, scheme] of Object.entries(card.securitySchemes ?? {})) {
    const flows = await flowsOf(scheme, requiredScopes(card, name), discover);
    const flow = flows.find(({ kind }) => wanted === undefined || kind === wanted);
    if (flow !== undefined) return flow;
  }
  const supported = 'device code, authorization code or client credentials';
  throw new CommandFailure(
    'A2ACLI_ERR_AUTH_FAILED',
    `the card of ${JSON.stringify(card.name)} declares no ${wanted ?? supported} flow`,
    { hint: 'see what it declares with "legate card", and set A2ACLI_BEARER or A2ACLI_API_KEY' },
  );
}

async function flowsOf(
  scheme: SecurityScheme,
  required: readonly string[],
  discover: (url: string) => Promise<OpenIdProvider>,
): Promise<readonly Flow[]> {
  if ('oauth2SecurityScheme' in scheme) {
    const { flows } = scheme.oauth2SecurityScheme;
    if ('deviceCode' in flows) return [{ kind: 'device-code', ...withScopes(flows.deviceCode) }];
    if ('authorizationCode' in flows) {
      return [{ kind: 'authorization-code', ...withScopes(flows.authorizationCode) }];
    }
    if ('clientCredentials' in flows) {
      return [{ kind: 'client-credentials', ...withScopes(flows.clientCredentials) }];
    }
  }
  if (!('openIdConnectSecurityScheme' in scheme)) return [];
  const provider = await discover(scheme.openIdConnectSecurityScheme.openIdConnectUrl);
  const { tokenUrl, authorizationUrl, deviceAuthorizationUrl, grants } = provider;
  const common = { tokenUrl, scopes: [...new Set(['openid', ...required])], provider };
  const flows: Flow[] = [];
  if (deviceAuthorizationUrl !== undefined) {
    flows.push({ ...common, kind: 'device-code', deviceAuthorizationUrl });
  }
  if (authorizationUrl !== undefined) {
    flows.push({ ...common, kind: 'authorization-code', authorizationUrl });
  }
  if (grants.includes('client_credentials')) {
    // Client credentials identify a program: there is no user identity to verify.
    flows.push({ ...common, kind: 'client-credentials', scopes: required });
  }
  return flows;
}

function withScopes<F extends { readonly scopes: Readonly<Record<string, string>> }>(
  flow: F,
): Omit<F, 'scopes'> & { readonly scopes: readonly string[] } {
  return { ...flow, scopes: Object.keys(flow.scopes) };
}

/** The scopes that the card requires with this scheme. */
function requiredScopes(card: AgentCard, name: string): readonly string[] {
  return (card.securityRequirements ?? []).flatMap(({ schemes }) =>
    Object.hasOwn(schemes, name) ? (schemes[name]?.list ?? []) : [],
  );
}
