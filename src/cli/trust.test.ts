import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { rabbitMq } from '../../test/support/rabbitmq.ts';
import { RockbotPeer } from '../bus/rockbot/rockbot.contract.ts';
import { busFolder, type BusFolder, slow } from './testing.contract.ts';

/** A worker that asks whom it may trust, and a caller with a key that the worker knows. */
async function withKeys(more = ''): Promise<BusFolder> {
  const folder = await busFolder();
  const { name } = folder;
  for (const owner of ['alice', name]) {
    await folder.run(['bus', 'key', owner, '--out', 'keys']);
  }
  const bus = `type: rabbitmq, url: "\${AMQP_URL}", exchange: exchange-${name}`;
  const side = (own: string, other: string): string =>
    `bus: {${bus}, signing_key: keys/${own}.pem, trusted: [{issuer: ${other}, keys: keys/${other}.jwks.json}]}\n`;
  await folder.write({
    'endpoints.yml': side(name, 'alice') + more,
    'alice.yml': side('alice', name),
    'unsigned.yml': `bus: {${bus}}\n`,
  });
  return folder;
}

test(
  'what a caller may do is granted, listed and revoked while the agent works',
  slow,
  async () => {
    await using folder = await withKeys();
    const { name } = folder;
    await using working = folder.start(['work', 'agent.ts', '--trust', '--log-level', 'warn']);
    await working.says('Working as');
    const alice = ['--name', 'alice', '--endpoints', 'alice.yml'];
    const call = (...more: string[]) => folder.run(['call', name, 'echo', 'hello', ...more]);
    const trust = (...args: string[]) => folder.run(['trust', ...args]);
    const did = 'echo hello';

    const stranger = await call(...alice);
    expect(stranger.out).not.toContain(did);
    // The operator is told.
    await working.says('Recorded, not executed: message-token::alice (echo): hello');
    const listed = await trust('list', '--json');
    expect(JSON.parse(listed.out)).toMatchObject({
      name: 'message-token::alice',
      level: 'observe',
      interactionCount: 1,
    });

    const granted = await trust(
      'grant',
      'message-token:alice',
      '--level',
      'act',
      '--skill',
      'echo',
    );
    expect(granted).toMatchObject({
      code: 0,
      out: 'message-token::alice  act  echo  interactions 1\n',
    });
    expect((await call(...alice)).out).toContain(did);
    // The same name without the key is somebody else, and stays an observer.
    expect((await call('--name', 'alice', '--endpoints', 'unsigned.yml')).out).not.toContain(did);

    expect((await trust('revoke', 'message-token:alice', '--by', 'me')).code).toBe(0);
    expect((await call(...alice)).out).not.toContain(did);
    const audit = (await trust('audit', '--json')).out.trim().split('\n');
    expect(audit.map((line) => JSON.parse(line) as object)).toMatchObject([
      { event: 'trust.revoked', by: 'me', subject: 'message-token::alice' },
      { event: 'trust.granted', by: 'cli', details: { level: 'act', skills: ['echo'] } },
    ]);
    await working.stop();
  },
);

test('a proposal waits for the user, who approves it', slow, async () => {
  await using folder = await withKeys('peers: {trust: true}\n');
  const { name } = folder;
  await using working = folder.start(['work', 'agent.ts', '--log-level', 'warn']);
  await working.says('Working as');
  await folder.run(['trust', 'grant', 'message-token:alice', '--level', 'propose']);
  const alice = ['--name', 'alice', '--endpoints', 'alice.yml'];
  const asking = folder.start(['call', name, 'echo', 'hello\u001b[2J', ...alice]);
  let id = '';
  await expect
    .poll(
      async () => {
        const { out } = await folder.run(['trust', 'proposals', '--json']);
        if (out !== '') ({ id } = JSON.parse(out) as { id: string });
        return id;
      },
      { timeout: 20_000 },
    )
    .not.toBe('');
  // What callers write never controls the terminal of the operator.
  expect((await folder.run(['trust', 'proposals'])).out).toMatch(/ {2}hello \[2J\n$/);
  expect(asking.out()).toBe('');
  await working.says(
    /Waiting for your approval: message-token::alice \(echo\): hello \[2J\n {2}legate trust approve /,
  );
  // The printed command works as it is.
  const [, printed = ''] = /^ {2}legate (trust approve .*)$/m.exec(working.err()) ?? [];
  expect(printed).toBe(`trust approve ${id} --store .legate/${name}.db`);
  expect((await folder.run(printed.split(' '))).code).toBe(0);
  expect(await asking.ended).toMatchObject({ code: 0, out: expect.stringContaining('echo hello') });
  expect((await folder.run(['trust', 'approve', id])).code).toBe(1);
  await working.stop();
});

test(
  'a RockBot that is trusted by its name may do what is granted to that name',
  slow,
  async () => {
    const { url } = await rabbitMq();
    // Unique on the broker, as its queue of answers.
    const primary = `RockBot-${randomUUID()}`;
    const trusted = `, trusted: [{issuer: ${primary}, unsigned: true}]`;
    await using folder = await busFolder({}, trusted, { dialect: 'rockbot' });
    const { name } = folder;
    await using working = folder.start(['work', 'agent.ts', '--trust', '--log-level', 'warn']);
    await working.says('Working as');
    const exchange = `exchange-${name}`;
    const senders = [primary, `Stranger-${randomUUID()}`];
    /** Sends a task under each name; returns the texts of the answers. */
    const answers = async (): Promise<readonly string[]> => {
      const texts: string[] = [];
      for (const sender of senders) {
        const topics = [`agent.response.${sender}`];
        await using rockbot = await RockbotPeer.start({ url, exchange, name: sender, topics });
        const taskId = randomUUID();
        const said = { role: 'user', parts: [{ kind: 'text', text: 'hello' }] };
        await rockbot.publish(
          `agent.task.${name}`,
          'AgentTaskRequest',
          { taskId, skill: 'echo', message: said },
          { correlationId: taskId, replyTo: topics[0] ?? '' },
        );
        const heard = () => [...rockbot.of('AgentTaskResult'), ...rockbot.of('AgentTaskError')];
        await expect.poll(() => heard().length, { timeout: 20_000 }).toBe(1);
        texts.push(JSON.stringify(heard()[0]?.body));
      }
      return texts;
    };
    const did = expect.stringContaining('echo hello') as unknown;
    const not = expect.not.stringContaining('echo hello') as unknown;

    expect(await answers()).toEqual([not, not]);
    await working.says(`Recorded, not executed: bus-name::${primary} (echo): hello`);
    const grant = ['trust', 'grant', `bus-name:${primary}`, '--level', 'act', '--skill', 'echo'];
    expect(await folder.run(grant)).toMatchObject({
      code: 0,
      out: `bus-name::${primary}  act  echo  interactions 1\n`,
    });
    expect(await answers()).toEqual([did, not]);
    expect((await folder.run(['trust', 'revoke', `bus-name:${primary}`])).code).toBe(0);
    expect(await answers()).toEqual([not, not]);
    expect((await working.stop()).code).toBe(0);
  },
);

test.each([
  [['trust', 'grant', 'message-token:a', '--level', 'boss'], 'Allowed choices', 2],
  [['trust', 'grant', 'message-token:a'], 'what to grant?', 2],
  [['trust', 'list', '--store', 'no.db'], 'there is no store no.db', 2],
  [['trust', 'lst'], 'Did you mean list?', 2],
  [['trust', 'grant', 'alice', '--level', 'act'], 'invalid trust subject', 1],
])('%j is refused', async (args, words, code) => {
  await using folder = await busFolder();
  const ended = await folder.run(args);
  expect(ended).toMatchObject({ code, out: '' });
  expect(ended.err).toContain(words);
});

test('who proves nothing cannot be granted anything', async () => {
  await using folder = await busFolder();
  await folder.run(['bus', 'declare', folder.name]);
  await folder.run(['work', 'agent.ts', '--once', '--idle-timeout', '0.1']);
  const refused = await folder.run(['trust', 'grant', 'self-asserted:bob', '--level', 'act']);
  expect(refused).toMatchObject({ code: 4, out: '' });
  expect(refused.err).toContain('stays an observer');
});
