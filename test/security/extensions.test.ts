/** §3.2.6, §4.6: extensions are asked for by header, and those that are required are required. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agent, inputRequired, textOf } from '../../src/agents/index.ts';
import { serve, type Serving } from '../../src/http/index.ts';
import { artifact } from '../../src/protocol/index.ts';
import { codeOf, dialects, resultOf, send, taskOf } from './support/dialects.ts';

const required = 'https://example.com/extensions/required';
const optional = 'https://example.com/extensions/optional';
const unknown = 'https://example.com/extensions/unknown';
const headerNames = ['A2A-Extensions', 'X-A2A-Extensions'];

/** Says which extensions are active for it. */
const teller = agent({ name: 'teller' }, async function* (turn) {
  if (textOf(turn.message) === 'ask') yield inputRequired('what?');
  else yield artifact(`active: ${turn.extensions.join(' ')}`);
});

let server: Serving;
let url = '';
beforeAll(async () => {
  server = await serve(teller, {
    drainMs: 0,
    card: {
      capabilities: { extensions: [{ uri: required, required: true }, { uri: optional }] },
    },
  });
  url = `http://127.0.0.1:${server.port}`;
});
afterAll(() => server.close());

describe.each(dialects)('$name', (dialect) => {
  const echo = dialect.version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions';

  test.each(['sendMessage', 'sendStreamingMessage'] as const)(
    '%s without a required extension is refused, and starts nothing',
    async (operation) => {
      const without: Record<string, string>[] = [
        {},
        { 'A2A-Extensions': optional },
        { 'A2A-Extensions': '' },
      ];
      for (const headers of without) {
        const answer = await send(url, dialect.request(operation), headers);
        expect(codeOf(answer)).toBe('EXTENSION_SUPPORT_REQUIRED');
        expect(answer.text).toContain(required);
        const isEvent = dialect.name === 'JSON-RPC 0.3' && operation === 'sendStreamingMessage';
        expect(answer.headers.get('content-type')).toContain(isEvent ? 'event-stream' : 'json');
      }
    },
  );

  test.each(headerNames)('%s names it, and the answer tells what is active', async (name) => {
    const asked = { [name]: `${unknown}, ${required} ,${optional}` };
    const answer = await send(url, dialect.request('sendMessage'), asked);
    resultOf(dialect, answer);
    expect(answer.headers.get(echo)).toBe(`${required}, ${optional}`);
    expect(answer.text).toContain(`active: ${required} ${optional}`);
    const stream = await send(url, dialect.request('sendStreamingMessage'), asked);
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    expect(stream.headers.get(echo)).toBe(`${required}, ${optional}`);
  });

  test('both headers count together', async () => {
    const answer = await send(url, dialect.request('sendMessage'), {
      'A2A-Extensions': required,
      'X-A2A-Extensions': optional,
    });
    expect(answer.headers.get(echo)).toBe(`${required}, ${optional}`);
  });

  test('reading and cancelling need no extension, and a follow-up does', async () => {
    const asked = { 'A2A-Extensions': required };
    const sent = await send(url, dialect.request('sendMessage', { text: 'ask' }), asked);
    const { id } = taskOf(dialect, sent);
    resultOf(dialect, await send(url, dialect.request('getTask', { id })));
    resultOf(dialect, await send(url, dialect.request('listTasks')));
    const followUp = await send(url, dialect.request('sendMessage', { id }));
    expect(codeOf(followUp)).toBe('EXTENSION_SUPPORT_REQUIRED');
    resultOf(dialect, await send(url, dialect.request('cancelTask', { id })));
  });
});
