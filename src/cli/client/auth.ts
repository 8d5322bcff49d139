import { randomBytes } from 'node:crypto';
import { present } from '../../config/index.ts';
import { sleep } from '../../time/index.ts';
import type { LoginCommandOptions } from '../commands/agents.ts';
import type { ClientCommandOptions } from '../commands/options.ts';
import { openPage } from '../open-page.ts';
import { Progress } from '../progress.ts';
import { usage } from '../usage.ts';
import { byAuthorizationCode } from './authorization-code.ts';
import { calling } from './calling.ts';
import { type Flow, flowOf } from './login-flow.ts';
import { byDeviceCode, requestToken, type TokenAnswer } from './oauth.ts';
import { discover, identityOf } from './openid.ts';
import { Output } from './output.ts';
import type { Session } from './session.ts';
import { type StoredToken, TokenFile } from './tokens.ts';

/** Timeout of a login in the browser, in milliseconds. */
const loginTimeoutMs = 300_000;

/** Gets a token for an agent, and stores it for later calls. */
export async function login(
  agent: string | undefined,
  options: LoginCommandOptions,
): Promise<void> {
  await calling(options, agent, async (session) => {
    const origin = await originOf(session);
    const { card } = await session.fetchCard();
    const { clientId } = options;
    if (clientId === undefined) throw usage('which client? Give --client-id, or A2ACLI_CLIENT_ID');
    using progress = new Progress('Waiting for the authorization server');
    const flow = await flowOf(card, options.flow, (url) =>
      discover(url, { fetch: session.fetch, signal: session.deadline }),
    );
    const { token, subject } = await granted(session, flow, { ...options, clientId }, progress);
    session.redactor.add(token.accessToken, token.refreshToken);
    const file = new TokenFile();
    file.set(origin, token);
    const until = token.expiresAt === undefined ? null : new Date(token.expiresAt).toISOString();
    const kept = { agent: origin, expiresAt: until, ...present({ subject }) };
    new Output(session).document(kept, (text) => {
      text.field('Agent', origin);
      text.field('Token', `kept in ${file.path}`);
      text.field('Subject', subject);
      text.field('Expires', until ?? 'unknown');
    });
  });
}

interface Granted {
  readonly token: StoredToken;
  /** The identity that the provider confirmed. */
  readonly subject: string | undefined;
}

async function granted(
  session: Session,
  flow: Flow,
  { clientId, ...options }: LoginCommandOptions & { readonly clientId: string },
  progress: Progress,
): Promise<Granted> {
  const { fetch, deadline: signal } = session;
  const { provider, tokenUrl } = flow;
  const clientSecret = process.env['A2ACLI_CLIENT_SECRET'];
  session.redactor.add(clientSecret);
  const isCode = flow.kind === 'authorization-code';
  const nonce =
    provider !== undefined && isCode ? randomBytes(16).toString('base64url') : undefined;
  let subject: string | undefined;
  const scope = (options.scope ?? flow.scopes).join(' ');
  const request = {
    fetch,
    tokenUrl,
    clientId,
    ...present({ clientSecret, authMethod: provider?.authMethod }),
    scope,
    signal,
    verify: async (answer: TokenAnswer) => {
      if (provider === undefined) return;
      subject = await identityOf(answer, { provider, clientId, fetch, signal, nonce });
    },
  };
  const prompt = (text: string): void => {
    session.warn(text);
    progress.say('Waiting for your confirmation');
  };
  let token: StoredToken;
  if (flow.kind === 'client-credentials') {
    const grant = { grant_type: 'client_credentials', ...(scope !== '' && { scope }) };
    token = await requestToken(request, grant);
  } else if (flow.kind === 'device-code') {
    token = await byDeviceCode({
      ...request,
      deviceAuthorizationUrl: flow.deviceAuthorizationUrl,
      prompt: (url, code) => prompt(`open ${url} and confirm the code ${code}`),
      now: Date.now,
      wait: (ms) => sleep(ms, signal),
    });
  } else {
    token = await byAuthorizationCode({
      ...request,
      authorizationUrl: flow.authorizationUrl,
      ...present({ issuer: provider?.issuer, nonce, port: options.redirectPort }),
      // With --timeout, the signal ends the wait.
      timeoutMs: session.choices.timeoutMs === undefined ? loginTimeoutMs : 0,
      prompt: (url) => {
        prompt(`open ${url} and confirm the login`);
        openPage(url);
      },
    });
  }
  return { token, subject };
}

/** Deletes the token for an agent. */
export async function logout(
  agent: string | undefined,
  options: ClientCommandOptions,
): Promise<void> {
  await calling(options, agent, async (session) => {
    const origin = await originOf(session);
    const isForgotten = new TokenFile().delete(origin);
    new Output(session).document({ agent: origin, isForgotten }, (text) => {
      text.field('Agent', origin);
      text.field('Token', isForgotten ? 'deleted' : 'there was none');
    });
  });
}

async function originOf(session: Session): Promise<string> {
  const reference = await session.resolve();
  if (reference.kind === 'url') return new URL(reference.url).origin;
  throw usage('tokens are stored by the URL of an agent: give its URL, not a file');
}
