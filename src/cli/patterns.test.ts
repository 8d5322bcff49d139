import { expect, test } from 'vitest';
import { projectFolder } from '../../test/support/greenhouse.ts';
import { slow, legate, start } from './testing.contract.ts';

/** A project that asks for a code; `collect` are further lines of the step that asks. */
function project(collect: string): Readonly<Record<string, string>> {
  return {
    'config.yml': 'assistant_id: codes\npipeline:\n  - name: MatchingCommandGenerator\n',
    'domain.yml': `
slots:
  code: {type: text}
responses:
  utter_ask_code: [{text: Which code?}]
  utter_wrong_code: [{text: That is no code.}]
  utter_right_code: [{text: "Your code is {code}."}]
`,
    'data/flows.yml': `
flows:
  enter_code:
    description: Enter a code.
    steps:
      - collect: code
${collect}
      - action: utter_right_code
`,
    'credentials.yml': 'rest:\n',
    'endpoints.yml': 'store: {type: memory}\n',
  };
}

const rejecting = (pattern: string) => `        rejections:
          - if: not slots.code matches ${pattern}
            utter: utter_wrong_code`;

/** Asks the running assistant over its REST channel; fails when it takes half a minute. */
async function ask(url: string, message: string): Promise<readonly unknown[]> {
  const answer = await fetch(`${url}/webhooks/rest/webhook`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sender: 'anna', message }),
    signal: AbortSignal.timeout(30_000),
  });
  return ((await answer.json()) as readonly { readonly text: string }[]).map(({ text }) => text);
}

async function serving(directory: string) {
  const running = start(['run', directory, '--port', '0']);
  await running.says('Stop:');
  const url =
    /http:\/\/(?:localhost|127\.0\.0\.1):\d+/.exec(running.out() + running.err())?.[0] ?? '';
  return { running, url };
}

test('a message can not hang the process by a pattern of the project', slow, async () => {
  const pattern = '^([a-z0-9]+-?)+$';
  await using folder = await projectFolder(project(rejecting(`"${pattern}"`)));
  const { running, url } = await serving(folder.directory);
  await using _ = running;
  await ask(url, 'ENTER A CODE');
  expect(await ask(url, `${'a'.repeat(62)}_`)).toContain('That is no code.');
  expect(await ask(url, 'abc-123')).toContain('Your code is abc-123.');
});

test(
  'patterns that the engine can not take: validate fails, run starts and warns once',
  slow,
  async () => {
    const collect = `        description: "The code, pattern: /(a)\\\\1/"\n${rejecting('"^(?=.*7)[a-z0-9]+$"')}`;
    await using folder = await projectFolder(project(collect));
    const { code, out } = await legate(['validate', folder.directory]);
    expect(code).toBe(1);
    expect(out).toMatch(
      /flows\.yml:7:43 flows\.enter_code\.steps\[0\]\.description: backreferences are not supported, so the pattern is not used; .*custom action/,
    );
    expect(out).toMatch(
      /flows\.yml:9:40 \S+rejections\[0\]\.if: lookahead and lookbehind are not supported, so the condition is always false; .*join several conditions/,
    );
    const { running, url } = await serving(folder.directory);
    await using _ = running;
    await ask(url, 'ENTER A CODE');
    expect(await ask(url, 'xyz')).toContain('Your code is xyz.');
    const { out: said, err } = await running.stop();
    expect((said + err).match(/lookahead and lookbehind are not supported/g)).toHaveLength(1);
  },
);
