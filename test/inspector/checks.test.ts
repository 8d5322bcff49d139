import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { anything, assert, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkCard } from '../../inspector/src/peers/card-checks.ts';
import { isEmpty, emptyDraft, metadataOf, partsOf } from '../../inspector/src/talk/draft.ts';
import { answerOf, formIn } from '../../inspector/src/talk/input-request.ts';
import {
  checkRequest,
  checkResponse,
  exchangeKind,
  SequenceCheck,
  type SentRequest,
} from '../../inspector/src/wire/checks.ts';
import type { StreamResponse, TaskState } from '../../src/protocol/index.ts';

const task = (state: TaskState): StreamResponse => ({
  task: { id: 't', contextId: 'c', status: { state } },
});
const status = (state: TaskState): StreamResponse => ({
  statusUpdate: { taskId: 't', contextId: 'c', status: { state } },
});
const artifact = (append: boolean, lastChunk = false): StreamResponse => ({
  artifactUpdate: {
    taskId: 't',
    contextId: 'c',
    artifact: { artifactId: 'a', parts: [{ text: 'x' }] },
    append,
    lastChunk,
  },
});
const problemsOf = (...events: readonly StreamResponse[]): readonly string[] => {
  const check = new SequenceCheck();
  return events.flatMap((event) => check.add(event));
};

describe('the order of events', () => {
  test('a valid stream has no problems', () => {
    expect(
      problemsOf(
        task('TASK_STATE_SUBMITTED'),
        status('TASK_STATE_WORKING'),
        artifact(false),
        artifact(true, true),
        status('TASK_STATE_COMPLETED'),
      ),
    ).toEqual([]);
    expect(
      problemsOf({ message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'x' }] } }),
    ).toEqual([]);
  });

  test.each([
    ['something after the end', [task('TASK_STATE_COMPLETED'), status('TASK_STATE_WORKING')]],
    ['a beginning without a task', [status('TASK_STATE_WORKING')]],
    ['a chunk for no artifact', [task('TASK_STATE_WORKING'), artifact(true)]],
    ['a chunk after the last', [task('TASK_STATE_WORKING'), artifact(false, true), artifact(true)]],
    [
      'another task',
      [
        task('TASK_STATE_WORKING'),
        {
          statusUpdate: {
            taskId: 'other',
            contextId: 'c',
            status: { state: 'TASK_STATE_WORKING' as const },
          },
        },
      ],
    ],
    [
      'an agent that sends the role of the user',
      [{ message: { messageId: 'm', role: 'ROLE_USER' as const, parts: [{ text: 'x' }] } }],
    ],
  ])('%s is reported', (_name, events) => {
    expect(problemsOf(...events)).toHaveLength(1);
  });

  test("a caller's follow-up in a stored log is in order", () => {
    const followUp: StreamResponse = {
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] },
    };
    expect(problemsOf(task('TASK_STATE_INPUT_REQUIRED'), followUp)).toEqual([]);
  });
});

const request = (part: Partial<SentRequest>): SentRequest => ({
  method: 'POST',
  url: 'https://agent.example/',
  requestHeaders: [['a2a-version', '1.0']],
  requestBody: '',
  ...part,
});
const rpc = (method: string, params: unknown = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 'r', method, params });

describe('the wire', () => {
  test('the request determines operation, version and binding', () => {
    expect(exchangeKind(request({ requestBody: rpc('message/stream') }))).toEqual({
      operation: 'sendStreamingMessage',
      version: '0.3',
      binding: 'JSONRPC',
      method: 'message/stream',
      id: 'r',
    });
    expect(
      exchangeKind(request({ url: 'https://agent.example/a/tasks/7:subscribe' })),
    ).toMatchObject({
      operation: 'subscribeToTask',
      version: '1.0',
      binding: 'HTTP+JSON',
    });
    expect(
      exchangeKind(
        request({ method: 'GET', url: 'https://a.example/.well-known/agent-card.json' }),
      ),
    ).toMatchObject({ operation: 'card' });
  });

  test('responses are checked as strictly as the specification', () => {
    const kind = exchangeKind(request({ requestBody: rpc('SendStreamingMessage') }));
    const frame = (result: unknown, more = {}): readonly string[] =>
      checkResponse(JSON.stringify({ jsonrpc: '2.0', id: 'r', result, ...more }), kind).problems;
    expect(frame(task('TASK_STATE_WORKING'))).toEqual([]);
    expect(frame(task('TASK_STATE_WORKING'), { id: 'other' })).toEqual([
      'id: must be that of the request',
    ]);
    // A request that was refused unread has no known id.
    const refusal = { jsonrpc: '2.0', id: null, error: { code: -32_060, message: 'no' } };
    expect(checkResponse(JSON.stringify(refusal), kind).problems).toEqual([]);
    expect(frame(task('TASK_STATE_WORKING'), { id: null })).toHaveLength(1);
    expect(frame({ task: { id: 't' } }).length).toBeGreaterThan(0);
    expect(frame({ task: { id: 't', contextId: 'c', status: { state: 'done' } } })[0]).toContain(
      'state',
    );
    expect(checkResponse('not json', kind).problems).toEqual(['is not JSON']);
    expect(checkResponse('[]', kind).problems).toHaveLength(1);
    const error = { jsonrpc: '2.0', id: 'r', error: { code: -32001, message: 'no' } };
    expect(checkResponse(JSON.stringify(error), kind).problems).toEqual([]);
  });

  test('responses of 0.3 are checked against 0.3', () => {
    const kind = exchangeKind(request({ requestBody: rpc('message/send') }));
    const answer = (result: unknown): readonly string[] =>
      checkResponse(JSON.stringify({ jsonrpc: '2.0', id: 'r', result }), kind).problems;
    const good = { kind: 'task', id: 't', contextId: 'c', status: { state: 'working' } };
    expect(answer(good)).toEqual([]);
    expect(answer({ ...good, status: {} }).length).toBeGreaterThan(0);
  });

  test('requests with missing fields are reported too', () => {
    const sent = request({ requestBody: rpc('SendMessage', { message: { parts: [] } }) });
    expect(checkRequest(sent, exchangeKind(sent)).length).toBeGreaterThan(0);
  });

  test('no response makes the check throw', () => {
    const kind = exchangeKind(request({ requestBody: rpc('SendStreamingMessage') }));
    assert(
      property(anything(), (value) => {
        checkResponse(JSON.stringify({ jsonrpc: '2.0', id: 'r', result: value }) ?? '', kind);
      }),
    );
  });
});

describe('cards', () => {
  const card = {
    name: 'a',
    description: 'b',
    version: '1',
    capabilities: {},
    supportedInterfaces: [
      { url: 'https://a.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 's', name: 's', description: 's', tags: ['t'] }],
    signatures: [],
  };
  const errors = (part: object): readonly string[] =>
    checkCard({ ...card, ...part })
      .findings.filter(({ level }) => level === 'error')
      .map(({ text }) => text);

  test('a 1.0 card without anything of 0.3 is valid', () => {
    expect(checkCard(card).findings).toEqual([]);
  });

  test.each([
    [{ name: '' }, 'name'],
    [{ description: undefined }, 'description'],
    [{ version: 7 }, 'version'],
    [{ capabilities: undefined }, 'capabilities'],
    [{ defaultInputModes: [] }, 'defaultInputModes'],
    [{ supportedInterfaces: [] }, 'supportedInterfaces'],
    [{ skills: [] }, 'skills'],
    [{ supportedInterfaces: [{ url: '/a', protocolBinding: 'JSONRPC' }] }, 'url'],
    [{ skills: [{ id: 's', name: 's', description: 's' }] }, 'tags'],
  ])('%j is an error', (part, place) => {
    expect(errors(part).join('\n')).toContain(place);
  });

  test('valid but discouraged content is a warning', () => {
    const repeated = checkCard({ ...card, skills: [...card.skills, ...card.skills] }).findings;
    expect(repeated).toEqual([
      { level: 'warning', text: expect.stringContaining('skills[1].id') as string },
    ]);
    const { signatures: _, ...unsigned } = card;
    const interfaces = [
      { url: 'http://a.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ];
    const { findings } = checkCard({
      ...unsigned,
      supportedInterfaces: interfaces,
      defaultOutputModes: ['text'],
    });
    expect(findings.map(({ level }) => level)).toEqual(Array.from({ length: 3 }, () => 'warning'));
  });

  test('any value can be checked', () => {
    assert(
      property(anything(), (value) => {
        expect(checkCard(value).findings.length).toBeGreaterThan(0);
      }),
    );
  });
});

describe('forms and drafts', () => {
  const schema = {
    title: 'Visit',
    properties: {
      guests: { type: 'integer', default: 2 },
      terrace: { type: 'boolean' },
      day: { type: 'string', format: 'date' },
      menu: { enum: ['a', 'b'] },
    },
    required: ['guests'],
  };

  test('a form is found in every supported location', () => {
    for (const data of [schema, { form: schema }, { schema }, { inputSchema: schema }]) {
      const form = formIn([{ text: 'hi' }, { data }]);
      expect(form?.fields.map(({ kind }) => kind)).toEqual(['number', 'boolean', 'date', 'choice']);
      expect(form?.fields[0]).toMatchObject({ isRequired: true, initial: '2' });
    }
    expect(formIn([{ text: 'hi' }, { data: { state: 'input_required' } }])).toBeUndefined();
    expect(formIn([{ data: { form: { properties: {} } } }])).toBeUndefined();
  });

  test('the answer of a form has the requested types', () => {
    const form = formIn([{ data: schema }]);
    if (form === undefined) throw new Error('no form');
    expect(answerOf(form, { guests: '3', terrace: 'true', day: '', menu: 'b' })).toEqual({
      guests: 3,
      terrace: true,
      menu: 'b',
    });
  });

  test('a draft becomes parts and metadata', () => {
    const draft = {
      text: 'hi',
      json: '{"a":1}',
      files: [{ name: 'a.txt', mediaType: 'text/plain', bytes: new Uint8Array([104, 105]) }],
      metadata: [
        ['n', '5'],
        ['t', 'five'],
        ['', 'lost'],
        ['__proto__', 'lost'],
      ] as const,
    };
    expect(partsOf(draft)).toEqual([
      { text: 'hi' },
      { data: { a: 1 } },
      { raw: 'aGk=', filename: 'a.txt', mediaType: 'text/plain' },
    ]);
    expect(metadataOf(draft)).toEqual({ n: 5, t: 'five' });
    expect(metadataOf(emptyDraft)).toBeUndefined();
    expect(isEmpty({ ...emptyDraft, text: '  ' })).toBe(true);
    expect(() => partsOf({ ...emptyDraft, json: '{' })).toThrow(SyntaxError);
  });
});

describe('colours (WCAG 2.2, 1.4.3 and 1.4.11)', () => {
  const css = readFileSync(
    join(import.meta.dirname, '../../inspector/src/styles/palette.css'),
    'utf8',
  );
  const paletteOf = (block: string): Map<string, string> =>
    new Map(
      [...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name = '', colour = '']) => [
        name,
        colour,
      ]),
    );
  const [light = '', dark = ''] = css.split("[data-theme='dark']");

  const luminance = (colour: string): number => {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
      const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one: string, other: string): number => {
    const [high = 0, low = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const grounds = ['ground', 'surface', 'sunken'];
  const texts: readonly (readonly [string, readonly string[]])[] = [
    ['text', [...grounds, 'accent-soft']],
    ['text-soft', [...grounds, 'accent-soft']],
    ['text-faint', grounds],
    ['accent', ['ground', 'surface']],
    ['accent-strong', ['surface', 'accent-soft']],
    ['on-accent', ['accent', 'accent-strong']],
    ['good', ['surface', 'good-soft', 'accent-soft']],
    ['warn', ['surface', 'warn-soft']],
    ['bad', ['surface', 'bad-soft', 'accent-soft']],
    ['info', ['surface', 'info-soft']],
  ];
  const lines: readonly (readonly [string, readonly string[]])[] = [
    ['line-strong', grounds],
    ['accent', [...grounds, 'accent-soft']],
  ];

  test.each([
    ['light', paletteOf(light)],
    ['dark', paletteOf(dark)],
  ])('%s: text reaches 4.5 to 1, and lines that carry meaning 3 to 1', (_theme, palette) => {
    expect(palette.size).toBeGreaterThan(15);
    for (const [pairs, least] of [
      [texts, 4.5],
      [lines, 3],
    ] as const) {
      for (const [name, on] of pairs) {
        for (const ground of on) {
          const ratio = contrast(palette.get(name) ?? '', palette.get(ground) ?? '');
          expect(ratio, `${name} on ${ground}`).toBeGreaterThanOrEqual(least);
        }
      }
    }
  });
});
