/** §13.1, §3.1.11: what a caller may use, by the scopes it has, and what it is shown. */
import { afterEach, describe, expect, test } from 'vitest';
import { agent } from '../../src/agents/index.ts';
import { Authenticator, bearerTokenVerifier, verifyCard } from '../../src/auth/index.ts';
import { serve, type ServeOptions, type Serving } from '../../src/http/index.ts';
import { type AgentCard, artifact } from '../../src/protocol/index.ts';
import { generateSigningKey, publicKeySet } from '../../src/push/index.ts';
import { bearer, tokenAuthenticator } from './support/callers.ts';
import { codeOf, dialects, resultOf, send } from './support/dialects.ts';

const clerk = agent(
  {
    name: 'clerk',
    skills: [
      { id: 'ask', name: 'Ask', description: 'Answers.', tags: ['talk'] },
      { id: 'order', name: 'Order', description: 'Orders.', tags: ['money'] },
      { id: 'audit', name: 'Audit', description: 'Looks at orders.', tags: ['money'] },
    ],
  },
  async function* () {
    yield artifact('done');
  },
);
const skillScopes = { order: ['orders:write'], audit: ['orders:read', 'auditor'] };

let server: Serving | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(options: ServeOptions = {}): Promise<string> {
  const auth = options.auth ?? (await tokenAuthenticator());
  server = await serve(clerk, { skillScopes, extendedCard: true, drainMs: 0, ...options, auth });
  return `http://127.0.0.1:${server.port}`;
}

const skillsOf = (card: unknown): string[] =>
  (card as { skills: { id: string }[] }).skills.map(({ id }) => id);

describe.each(dialects)('$name', (dialect) => {
  const say = (skill: string | undefined) => {
    const request = dialect.request('sendMessage');
    const body = JSON.parse(request.body ?? '') as {
      params?: { message: object };
      message?: object;
    };
    Object.assign(body.params?.message ?? body.message ?? {}, {
      ...(skill !== undefined && { metadata: { skillId: skill } }),
    });
    return { ...request, body: JSON.stringify(body) };
  };

  test.each<[string | undefined, string, boolean]>([
    ['ask', '', true],
    ['order', 'orders:write', true],
    ['order', 'orders:read auditor', false],
    ['audit', 'orders:read auditor', true],
    ['audit', 'auditor', false],
    ['ORDER', 'orders:write', false],
    [undefined, '', false],
    [undefined, 'orders:write orders:read auditor', true],
  ])('a message for skill %s with scopes %j is let in: %s', async (skill, scope, isAllowed) => {
    const url = await start();
    const token = await bearer({ sub: 'alice', scope });
    const answer = await send(url, say(skill), token);
    if (isAllowed) return void resultOf(dialect, answer);
    expect([answer.status, codeOf(answer)]).toEqual([403, 'PERMISSION_DENIED']);
    expect(answer.headers.get('www-authenticate')).toContain('error="insufficient_scope", scope="');
    if (dialect.isRpc) expect(answer.body).toMatchObject({ jsonrpc: '2.0', id: 1 });
    // Not a trace of a task.
    const list = await send(url, dialect.request('listTasks'), token);
    expect(list.text).not.toContain('contextId');
  });

  test('the extended card shows each caller the skills it may use', async () => {
    const url = await start();
    const card = async (scope: string) =>
      skillsOf(
        resultOf(
          dialect,
          await send(
            url,
            dialect.request('getExtendedAgentCard'),
            await bearer({ sub: 'a', scope }),
          ),
        ),
      );
    expect(await card('')).toEqual(['ask']);
    expect(await card('orders:write')).toEqual(['ask', 'order']);
    expect(await card('orders:write orders:read auditor')).toEqual(['ask', 'order', 'audit']);
  });

  test('the extended card is not for strangers, also where strangers may call', async () => {
    const auth = new Authenticator({
      allowAnonymous: true,
      verifiers: [bearerTokenVerifier({ tokens: [{ token: 'friend', subject: 'alice' }] })],
    });
    const url = await start({ auth });
    const request = dialect.request('getExtendedAgentCard');
    const stranger = await send(url, request);
    expect([stranger.status, codeOf(stranger)]).toEqual([401, 'UNAUTHENTICATED']);
    expect(stranger.headers.get('www-authenticate')).toContain('Bearer');
    const friend = await send(url, request, { authorization: 'Bearer friend' });
    expect(skillsOf(resultOf(dialect, friend))).toEqual(['ask']);
  });
});

test('the public card declares what each skill needs', async () => {
  const url = await start();
  const response = await fetch(`${url}/.well-known/agent-card.json`, {
    headers: { 'a2a-version': '1.0' },
  });
  const { skills } = (await response.json()) as AgentCard;
  const scopes = skills.map(({ securityRequirements }) => securityRequirements?.[0]?.schemes);
  expect(scopes).toEqual([
    undefined,
    { bearer: { list: ['orders:write'] } },
    { bearer: { list: ['orders:read', 'auditor'] } },
  ]);
});

test('an extended card of the operator’s own is made per caller, and signed over what is shown', async () => {
  const key = generateSigningKey();
  let made = 0;
  const url = await start({
    cardKeys: [key],
    extendedCard: ({ subject }, card) => {
      made += 1;
      return { ...card, description: `for ${subject}` };
    },
  });
  const trusted = [{ keys: publicKeySet([key]) }];
  const ask = async (sub: string, scope: string) =>
    (
      await send(
        url,
        { method: 'GET', path: '/extendedAgentCard', headers: { 'a2a-version': '1.0' } },
        await bearer({ sub, scope }),
      )
    ).body as AgentCard;
  const alice = await ask('alice', 'orders:write');
  expect(alice.description).toBe('for alice');
  expect((await verifyCard(alice, { trusted })).card).toMatchObject({ description: 'for alice' });
  const bob = await ask('bob', '');
  expect([bob.description, skillsOf(bob)]).toEqual(['for bob', ['ask']]);
  // The same content is signed once, however often it is asked for.
  expect((await ask('alice', 'orders:write')).signatures).toEqual(alice.signatures);
  expect(made).toBe(3);
});
