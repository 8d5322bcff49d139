import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { serve, type Serving } from '../../http/index.ts';
import type { Message, Part, StreamResponse, Task } from '../../protocol/index.ts';
import { fieldsOf, legate, start, patient } from '../testing/legate-process.ts';
import { officialServer } from '../../../test/support/official-server.ts';
import { rawAgent, rawCard, sendJson } from '../testing/raw-agent.ts';
import { triedAgent } from '../testing/tried-agent.ts';

let server: Serving;
let folder: string;
beforeAll(async () => {
  server = await serve(triedAgent);
  folder = mkdtempSync(join(tmpdir(), 'legate-send-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server.close();
});

const send = (...args: readonly string[]) => legate(['send', '-a', server.url, ...args]);

/** The message as the agent got it. */
async function sent(...args: readonly string[]): Promise<Message & { requestMetadata: object }> {
  const { out, code, err } = await send('--json', ...args);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const { task } = JSON.parse(out) as { task: Task };
  return task.artifacts?.[0]?.parts[0]?.data as unknown as Message & { requestMetadata: object };
}

const linesOf = (out: string) =>
  out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as StreamResponse & { error?: object });

describe('A2ACLI_SEND: sending', () => {
  test(
    'SEND_001, OUT_001, OUT_005: text names task, context and state, one field a line',
    patient,
    async () => {
      const { code, out, err } = await send('chunks');
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).toMatch(
        /^Task: \S+\nContext: \S+\nState: TASK_STATE_COMPLETED\nArtifact: c\nText:\n {2}one two\n\n$/,
      );
    },
  );

  test('the agent may be the first argument, and the text come from a pipe', patient, async () => {
    const piped = await legate(['send', server.url], { input: 'ask\n' });
    expect(fieldsOf(piped.out)['State']).toBe('TASK_STATE_INPUT_REQUIRED');
    const dashed = await legate(['send', server.url, '-'], { input: 'ask' });
    expect(fieldsOf(dashed.out)['State']).toBe('TASK_STATE_INPUT_REQUIRED');
  });

  test(
    'SEND_002, OUT_006: it waits, and with --async gives the ids of a task under way',
    patient,
    async () => {
      const { code, out } = await send('--async', '--json', 'wait');
      expect(code).toBe(0);
      const { task } = JSON.parse(out) as { task: Task };
      expect(task).toMatchObject({ id: expect.any(String), contextId: expect.any(String) });
      expect(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']).toContain(task.status.state);
      const text = await send('--no-wait', 'wait');
      expect(fieldsOf(text.out)).toMatchObject({
        Follow: expect.stringContaining('legate get -a ') as string,
        Task: expect.any(String) as string,
        Context: expect.any(String) as string,
      });
    },
  );

  test('SEND_003: a plain message is a result, streamed or not', patient, async () => {
    await using official = await officialServer();
    const plain = await legate(['send', official.url, 'reply']);
    expect(plain).toMatchObject({ code: 0, err: '' });
    expect(plain.out).toMatch(/^Context: \S+\nMessage: agent\nText:\n {2}Plainly said\n\n$/);
    const streamed = await legate(['send', official.url, '--stream', '--json', 'reply']);
    expect(linesOf(streamed.out)).toMatchObject([
      { message: { parts: [{ text: 'Plainly said' }] } },
    ]);
  });

  test(
    'SEND_004, OUT_005: every part is shown, and none can pass for a field',
    patient,
    async () => {
      const { out } = await send('files');
      expect(out).toContain(
        [
          'Artifact: result',
          'Text:',
          '  See:',
          '  ',
          '  State: forged',
          '',
          'Data:',
          '  {',
          '    "total": 3',
          '  }',
          '',
          'File: ../a.bin (image/png, 4 bytes)',
          'File: b.pdf (application/pdf, https://example.com/b.pdf)',
          '',
        ].join('\n'),
      );
      expect(fieldsOf(out)['State']).toBe('TASK_STATE_COMPLETED');
    },
  );

  test('OUT_005: no control sequence of an agent reaches the terminal', patient, async () => {
    const { out } = await send('controls');
    expect(out).toContain('  red [31mm end\n');
  });

  test(
    'SEND_005, SEND_006: parts come in the order of their flags, with the types they are given',
    patient,
    async () => {
      const order = join(folder, 'order.json');
      writeFileSync(order, '{"a":1}');
      writeFileSync(join(folder, 'picture'), Buffer.from([1, 2]));
      const flags = `--text first --data ${order} --file ${join(folder, 'picture')}
      --media-type image/png --file https://example.com/x.pdf
      --text last --media-type text/markdown --file ${order}`;
      const { parts } = await sent(...flags.split(/\s+/));
      const expected: Part[] = [
        { text: 'first' },
        { data: { a: 1 } },
        { raw: 'AQI=', filename: 'picture', mediaType: 'image/png' },
        { url: 'https://example.com/x.pdf', filename: 'x.pdf' },
        { text: 'last', mediaType: 'text/markdown' },
        { raw: 'eyJhIjoxfQ==', filename: 'order.json', mediaType: 'application/json' },
      ];
      expect(parts).toEqual(expected);
    },
  );

  test('SEND_006: data is read from standard input, or written out', patient, async () => {
    const args = ['send', '-a', server.url, '--json', 'x', '--data', '-', '--data', '[2]'];
    const { out } = await legate(args, { input: '{"n":1}' });
    expect(out).toContain('"n": 1');
    const { task } = JSON.parse(out) as { task: Task };
    const message = task.artifacts?.[0]?.parts[0]?.data as unknown as Message;
    expect(message.parts).toEqual([{ text: 'x' }, { data: { n: 1 } }, { data: [2] }]);
  });

  test('metadata goes with the message and with the request', patient, async () => {
    const got = await sent('x', '--metadata', '{"k":{"v":1}}', '--message-id', 'mine');
    expect(got).toMatchObject({
      messageId: 'mine',
      metadata: { k: { v: 1 } },
      requestMetadata: { k: { v: 1 } },
    });
  });

  test.each([
    [['--media-type', 'text/plain', 'x'], 'Must follow --text, --file or --data'],
    [['--metadata', '[1]', 'x'], '--metadata must be a JSON object'],
    [['--data', '{"a"', 'x'], 'is not JSON'],
    [['--file', '/no/such', 'x'], 'there is no file /no/such'],
    [['--timeout', 'soon', 'x'], 'write 500ms, 30s, 5m or 1h'],
    [['--transport', 'pigeon', 'x'], 'is not a binding'],
    [['--a2a-version', '2.0', 'x'], 'use 1.0 or 0.3'],
    [['--output', 'xml', 'x'], '--output is text or json'],
    [['--svc-param', 'nothing', 'x'], 'name:value'],
    [['--text', ''], 'no message given'],
    [['--stream', '--async', 'x'], 'cannot be used with'],
  ])('EXIT_001: %j is wrong usage, exit 2', patient, async (args, words) => {
    const { code, out, err } = await send(...args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(words);
  });
});

describe('A2ACLI_INTERACT: continuing', () => {
  test(
    'INTERACT_001, INTERACT_004, EXIT_002, TASK_POLL_003: a question ends the wait, with the command to answer',
    patient,
    async () => {
      const asked = await send('ask');
      expect(asked.code).toBe(0);
      expect(asked.err).toContain('the task needs input (TASK_STATE_INPUT_REQUIRED)');
      const { Task: id = '', Context: context = '', Resume = '' } = fieldsOf(asked.out);
      expect(Resume).toBe(`legate send -a ${server.url} --task-id ${id} "your reply"`);
      // INTERACT_002: the task alone is enough.
      const answered = await send('--task-id', id, 'the red one');
      expect(fieldsOf(answered.out)).toMatchObject({
        Task: id,
        Context: context,
        State: 'TASK_STATE_COMPLETED',
      });
      expect(answered.out).toContain('You chose the red one.');
      // INTERACT_001: a new task of the same context.
      const again = await send('--context-id', context, 'chunks');
      expect(fieldsOf(again.out)['Context']).toBe(context);
      expect(fieldsOf(again.out)['Task']).not.toBe(id);
    },
  );

  test(
    'TASK_POLL_003: a task that wants its caller to sign in ends the wait, too',
    patient,
    async () => {
      const { code, out, err } = await send('sign in');
      expect(code).toBe(0);
      expect(fieldsOf(out)['State']).toBe('TASK_STATE_AUTH_REQUIRED');
      expect(err).toContain('TASK_STATE_AUTH_REQUIRED');
    },
  );

  test(
    'INTERACT_002: an id that is refused fails, starts nothing, and points at --debug',
    patient,
    async () => {
      const listed = () => legate(['list', server.url, '--json', '--page-size', '1']);
      const countOf = async () =>
        (JSON.parse((await listed()).out) as { totalSize: number }).totalSize;
      const unknown = await send('--json', '--task-id', 'no-such-task', 'x');
      expect(unknown.code).toBe(1);
      expect(JSON.parse(unknown.out)).toEqual({
        error: {
          code: 'TaskNotFoundError',
          message: expect.any(String) as string,
          hint: expect.stringContaining('--debug') as string,
          a2aCode: -32001,
        },
      });
      const asked = fieldsOf((await send('ask')).out);
      const before = await countOf();
      const mismatched = await send('--task-id', asked['Task'] ?? '', '--context-id', 'other', 'x');
      expect(mismatched.code).toBe(1);
      expect(mismatched.out).toBe('');
      expect(await countOf()).toBe(before);
    },
  );

  test(
    'INTERACT_003, INTERACT_005: nothing is made up, and nothing is remembered',
    patient,
    async () => {
      const first = await sent('x');
      const second = await sent('y');
      expect(first.contextId).not.toBe(second.contextId);
      expect(first.messageId).not.toBe(second.messageId);
      const help = await legate(['send', '--help']);
      expect(help.out).not.toContain('--continue');
    },
  );
});

describe('A2ACLI_OUT: output', () => {
  test('OUT_002: -o json is one document, the task as it ended', patient, async () => {
    const { out, err } = await send('-o', 'json', 'chunks');
    expect(err).toBe('');
    const { task } = JSON.parse(out) as { task: Task };
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(task.artifacts).toMatchObject([{ artifactId: 'c' }]);
  });

  test(
    'OUT_003: -o json --stream is an object a line, the last one with the end',
    patient,
    async () => {
      const { out, code } = await send('-o', 'json', '--stream', 'chunks');
      expect(code).toBe(0);
      const events = linesOf(out);
      expect(events.map((event) => Object.keys(event)[0])).toEqual([
        'task',
        'statusUpdate',
        'artifactUpdate',
        'artifactUpdate',
        'statusUpdate',
      ]);
      expect(events.at(-1)).toMatchObject({
        statusUpdate: { taskId: expect.any(String), status: { state: 'TASK_STATE_COMPLETED' } },
      });
    },
  );

  test('OUT_003: what ends a stream is the last line', patient, async () => {
    const { out, code } = await send('--json', '--stream', '--timeout', '4s', 'wait');
    expect(code).toBe(5);
    expect(linesOf(out).at(-1)).toMatchObject({ error: { code: 'A2ACLI_ERR_TIMEOUT' } });
  });

  test('OUT_002: neither environment nor terminal makes it stream', patient, async () => {
    const { out } = await legate(['send', '-a', server.url, '--json', 'chunks'], {
      env: { A2ACLI_STREAM: '1' },
    });
    expect(JSON.parse(out)).toHaveProperty('task');
  });

  test('OUT_005: streamed text says where the task stands at its end', patient, async () => {
    const { out } = await send('--stream', 'chunks');
    expect(out).toMatch(/\nTask: \S+\nContext: \S+\nState: TASK_STATE_COMPLETED\n$/);
  });

  test('OUT_005: pieces of a text are one block, which grows as they arrive', patient, async () => {
    let finish = (): void => undefined;
    await using agent = await rawAgent(({ path, body, response, url }) => {
      if (path.startsWith('/.well-known')) return sendJson(response, rawCard(url));
      const at = { taskId: 't', contextId: 'c' };
      const tell = (result: object) =>
        response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: body.id, result })}\n\n`);
      const piece = (text: string, append: boolean) =>
        tell({
          artifactUpdate: { ...at, artifact: { artifactId: 'a', parts: [{ text }] }, append },
        });
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      tell({ task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } });
      piece('Once upon ', false);
      finish = () => {
        for (const text of ['a ', 'time\nthere ', 'was']) piece(text, true);
        tell({ statusUpdate: { ...at, status: { state: 'TASK_STATE_COMPLETED' } } });
        response.end();
      };
      return undefined;
    });
    const running = start(['send', agent.url, '--stream', 'go']);
    const place = 'Task: t\nContext: c\n';
    const ended = 'State: TASK_STATE_COMPLETED\n';
    const begun = `${place}State: TASK_STATE_WORKING\nArtifact: a\nText:\n  Once upon `;
    await expect.poll(() => running.out, { timeout: 60_000 }).toBe(begun);
    finish();
    expect(await running.ended).toMatchObject({
      code: 0,
      out: `${begun}a time\n  there was\n\n${ended}${place}${ended}`,
    });
  });

  test(
    'an assistant is read as text: no state for orchestrators, nothing twice, its choices',
    patient,
    async () => {
      const text = '  Rent -780\n  Salary 2450\n\n';
      const answer = 'Text:\n  What next?\n\nChoice: Send money\nChoice: Show my balance\n';
      const streamed = await send('--stream', 'assistant');
      expect(streamed.out).toContain(
        `Artifact: s\nText:\n${text}State: TASK_STATE_INPUT_REQUIRED\nMessage: agent\n${answer}`,
      );
      expect(streamed.out).not.toContain('Data:');
      const whole = await send('assistant');
      expect(whole.out).toContain(answer);
      expect(whole.out).not.toContain('Data:');
      const verbose = await send('--verbose', 'assistant');
      expect(verbose.out).toContain('"active_flow": null');
    },
  );

  test.each([
    ['fail', 'TASK_STATE_FAILED', 'It broke', 'task failed (TASK_STATE_FAILED)'],
    ['refuse', 'TASK_STATE_REJECTED', 'Not that', 'task rejected (TASK_STATE_REJECTED)'],
  ])(
    'EXIT_002: the agent does not %s the command',
    patient,
    async (text, state, words, warning) => {
      const { code, out, err } = await send(text);
      expect(code).toBe(0);
      expect(fieldsOf(out)['State']).toBe(state);
      expect(out).toContain(words);
      expect(err).toContain(warning);
    },
  );

  test('OUT_004: wrong usage is told as JSON where JSON was asked for', patient, async () => {
    const unknown = await send('--json', '--bogus', 'x');
    expect(unknown.code).toBe(2);
    expect(JSON.parse(unknown.out)).toMatchObject({ error: { code: 'A2ACLI_ERR_USAGE' } });
    const nobody = await legate(['send', '--json'], { input: '' });
    expect(nobody.code).toBe(2);
    expect(JSON.parse(nobody.out)).toMatchObject({ error: { code: 'A2ACLI_ERR_USAGE' } });
  });
});

describe('A2ACLI_TASK_POLL: waiting', () => {
  test(
    'TASK_POLL_002: --timeout ends the wait with exit 5, and names the task',
    patient,
    async () => {
      const { code, out, err } = await send('--timeout', '4s', 'wait');
      expect({ code, out }).toEqual({ code: 5, out: '' });
      expect(err).toContain('A2ACLI_ERR_TIMEOUT');
      expect(err).toMatch(/task \S+; to see it later: legate get -a /);
    },
  );

  test('TASK_POLL_002: interrupting the wait prints the id of the task', patient, async () => {
    const running = start(['send', '-a', server.url, 'wait']);
    await expect.poll(() => running.err, { timeout: 60_000 }).toMatch(/task \S+; to see it later/);
    running.child.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 130, out: '' });
  });
});

test.each([
  ['JSONRPC', '1.0'],
  ['HTTP+JSON', '1.0'],
  ['JSONRPC', '0.3'],
  ['HTTP+JSON', '0.3'],
])('a server of the official SDK is called over %s in %s', patient, async (transport, version) => {
  await using official = await officialServer();
  const args = ['-a', official.url, '--transport', transport, '--a2a-version', version];
  const done = await legate(['send', ...args, 'count']);
  expect(done).toMatchObject({ code: 0, err: '' });
  expect(done.out).toContain('  one two\n');
  const { Task: id = '' } = fieldsOf((await legate(['send', ...args, 'ask'])).out);
  const answered = await legate(['send', ...args, '--stream', '--json', '--task-id', id, 'go']);
  // Some streams end with the status, others with the whole task.
  const last = answered.out.trimEnd().split('\n').at(-1) ?? '';
  expect(last).toContain(id);
  expect(last).toContain('TASK_STATE_COMPLETED');
});
