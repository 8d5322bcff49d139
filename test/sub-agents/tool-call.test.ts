import { expect, test } from 'vitest';
import { start } from '../../src/assistant/testing/conversation.ts';
import { startHotels, talk } from './support.ts';

const APOLOGY = 'Something went wrong on my side. Please try that again.';

function flowCalling(
  tool: string,
  output: string,
  input = '[{param: hotel, slot: hotel}]',
): string {
  return `
flows:
  reserve:
    description: Reserve a room.
    run_pattern_completed: false
    steps:
      - set_slots: [{hotel: Ritz}, {nights: 2}]
      - call: ${tool}
        mcp_server: hotels
        mapping:
          input: ${input}
          output: ${output}
      - action: utter_booked
`;
}

async function reserve(
  flow: string,
  server = '',
  environment: Readonly<Record<string, string>> = {},
) {
  const hotels = await startHotels({
    guard: ({ headers }) =>
      environment['TOKEN'] === undefined || headers['x-key'] === `k=${environment['TOKEN']}`
        ? undefined
        : 401,
  });
  const one = await talk({
    files: {
      'data/flows.yml': flow,
      'endpoints.yml': `mcp_servers: [{name: hotels, url: "${hotels.url}", type: http${server}}]`,
    },
    environment,
  });
  const said = await one.chat.say('reserve', start('reserve'));
  const booking = one.chat.slot('booking');
  const { error } = one.chat.outcome;
  const events = one.chat.flowEvents;
  await one[Symbol.asyncDispose]();
  await hotels.close();
  const { logged } = one;
  return { said, booking, error, events, hotels, logged };
}

test('slots become parameters, and expressions over the result become slots', async () => {
  const { said, booking, hotels } = await reserve(
    flowCalling(
      'book',
      '[{slot: booking, value: "result.structuredContent.booking.id if result.structuredContent.booking.ok else none"}]',
      '[{param: hotel, slot: hotel}, {param: nights, slot: nights}]',
    ),
  );
  expect(said).toEqual(['Booked Ritz.']);
  expect(booking).toBe(7);
  expect(hotels.calls).toEqual({ 'book Ritz': 1 });
});

test('a slot without a value is a parameter that is not given', async () => {
  const { said } = await reserve(
    flowCalling(
      'book',
      '[{slot: booking, value: result.structuredContent}]',
      '[{param: hotel, slot: hotel}, {param: nights, slot: found}]',
    ),
  );
  expect(said).toEqual(['Booked Ritz.']);
});

test('a tool without an output schema gives its content whole', async () => {
  const { booking } = await reserve(
    flowCalling('say', '[{slot: booking, value: result.content}]', '[]'),
  );
  expect(booking).toEqual([{ type: 'text', text: 'words' }]);
});

test('the server sees who calls and what meta_map says; the log shows only the names', async () => {
  const { said, hotels, logged } = await reserve(
    flowCalling('book', '[{slot: booking, value: result.structuredContent}]'),
    ', api_key: "${TOKEN}", header_name: X-Key, header_format: "k={key}", meta_map: {static: {tenant: acme-17}}',
    { TOKEN: 'hunter2' },
  );
  expect(said).toEqual(['Booked Ritz.']);
  expect(hotels.metas).toEqual([{ tenant: 'acme-17' }]);
  expect(logged).toContainEqual({
    event: 'mcp_tool.called',
    fields: { tool: 'book', server: 'hotels', meta: ['tenant'] },
  });
  expect(JSON.stringify(logged)).not.toMatch(/acme-17|hunter2/);
});

test('a tool that fails, and one that is not there, end the flow with one message', async () => {
  const failing = flowCalling('book', '[{slot: booking, value: result}]').replace(
    'hotel: Ritz',
    'hotel: Savoy',
  );
  for (const [flow, tool] of [
    [failing, 'book'],
    [flowCalling('boook', '[{slot: booking, value: result}]'), 'boook'],
  ] as const) {
    const { said, error, events } = await reserve(flow);
    expect(said).toEqual([APOLOGY]);
    expect(events.at(-1)).toBe('flow_cancelled reserve');
    expect(error).toMatchObject({
      type: 'tool_failed',
      info: { tool, mcp_server: 'hotels', error_source: 'tool' },
    });
  }
});

test('a tool that its server does not have is told at the start, with what was meant', async () => {
  await using hotels = await startHotels();
  await using one = await talk({
    files: {
      'data/flows.yml': flowCalling('boook', '[{slot: booking, value: result}]'),
      'endpoints.yml': `mcp_servers: [{name: hotels, url: "${hotels.url}"}]`,
    },
  });
  await expect
    .poll(() => one.logged.find(({ event }) => event === 'mcp_tool.unknown'), { timeout: 10_000 })
    .toMatchObject({ fields: { tool: 'boook', hint: expect.stringContaining('book') as string } });
});
