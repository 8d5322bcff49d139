import { setTimeout as wait } from 'node:timers/promises';
import type { AgentCard, OAuthFlows } from '../../protocol/index.ts';
import type { LoginCommandOptions } from '../commands/auth.ts';
import type { ClientCommandOptions } from '../commands/client-options.ts';
import { Progress } from '../progress.ts';
import { readReference } from './agent-reference.ts';
import { calling } from './calling.ts';
import { usage } from './choices.ts';
import { CommandFailure } from './failure.ts';
import { byClientCredentials, byDeviceCode } from './oauth.ts';
import { Output } from './output.ts';
import type { Session } from './session.ts';
import { TokenFile } from './token-file.ts';

/** Gets a token for an agent, and keeps it for the calls to come. */
export async function login(
  operands: readonly string[],
  options: LoginCommandOptions,
): Promise<void> {
  await calling(options, operands, async (session) => {
    const origin = originOf(session);
    const { card } = await session.fetchCard();
    const { clientId } = options;
    if (clientId === undefined) throw usage('who asks? Give --client-id, or A2ACLI_CLIENT_ID');
    const clientSecret = process.env['A2ACLI_CLIENT_SECRET'];
    if (clientSecret !== undefined) session.redactor.add(clientSecret);
    const flow = flowOf(card, options.flow);
    const scope = (options.scope ?? Object.keys(flow.value.scopes)).join(' ');
    const request = {
      fetch: session.fetch,
      tokenUrl: flow.value.tokenUrl,
      clientId,
      ...(clientSecret !== undefined && { clientSecret }),
      scope,
      signal: session.signal,
      now: Date.now,
      wait: (ms: number) => wait(ms, undefined, { signal: session.signal }),
    };
    using progress = new Progress('Waiting for the authority');
    const token =
      flow.kind === 'client-credentials'
        ? await byClientCredentials(request)
        : await byDeviceCode({
            ...request,
            deviceAuthorizationUrl: flow.value.deviceAuthorizationUrl,
            tell: (url, code) => {
              progress.clear();
              session.warn(`open ${url} and confirm the code ${code}`);
              progress.say('Waiting for you to confirm it');
            },
          });
    progress.clear();
    session.redactor.add(token.accessToken);
    const file = new TokenFile(process.env);
    file.set(origin, token);
    const until = token.expiresAt === undefined ? null : new Date(token.expiresAt).toISOString();
    new Output(session).document({ agent: origin, expiresAt: until }, (text) => {
      text.field('Agent', origin);
      text.field('Token', `kept in ${file.path}`);
      text.field('Expires', until ?? 'unknown');
    });
  });
}

/** Forgets the token for an agent. */
export async function logout(
  operands: readonly string[],
  options: ClientCommandOptions,
): Promise<void> {
  await calling(options, operands, async (session) => {
    const origin = originOf(session);
    const isForgotten = new TokenFile(process.env).delete(origin);
    new Output(session).document({ agent: origin, isForgotten }, (text) => {
      text.field('Agent', origin);
      text.field('Token', isForgotten ? 'forgotten' : 'there was none');
    });
  });
}

function originOf(session: Session): string {
  const reference = readReference(session.choices.agent);
  if (reference.kind === 'address') return new URL(reference.url).origin;
  throw usage('tokens are kept by the address of an agent: give it, and not a file');
}

type Flow =
  | {
      readonly kind: 'device-code';
      readonly value: Extract<OAuthFlows, { deviceCode: object }>['deviceCode'];
    }
  | {
      readonly kind: 'client-credentials';
      readonly value: Extract<OAuthFlows, { clientCredentials: object }>['clientCredentials'];
    };

/** The first flow of the card that is spoken here, or the one that was asked for. */
function flowOf(card: AgentCard, wanted: LoginCommandOptions['flow']): Flow {
  for (const scheme of Object.values(card.securitySchemes ?? {})) {
    if (!('oauth2SecurityScheme' in scheme)) continue;
    const { flows } = scheme.oauth2SecurityScheme;
    if ('deviceCode' in flows && wanted !== 'client-credentials') {
      return { kind: 'device-code', value: flows.deviceCode };
    }
    if ('clientCredentials' in flows && wanted !== 'device-code') {
      return { kind: 'client-credentials', value: flows.clientCredentials };
    }
  }
  throw new CommandFailure({
    code: 'A2ACLI_ERR_AUTH_FAILED',
    message: `the card of ${JSON.stringify(card.name)} declares no ${wanted ?? 'device code or client credentials'} flow`,
    hint: 'see what it declares with "legate card", and set A2ACLI_BEARER or A2ACLI_API_KEY',
  });
}
