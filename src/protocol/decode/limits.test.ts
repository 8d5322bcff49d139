import { describe, expect, test } from 'vitest';
import { type Dialect, v03, v03Rest, v1 } from '../index.ts';
import { LegateError } from '../errors.ts';
import { type DecodeOptions, defaultDecodeLimits } from './options.ts';

/** The paths at fault; empty when the value is accepted. */
function faults(decode: () => unknown): readonly string[] {
  try {
    decode();
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
    expect(error.code).toBe('INVALID_PARAMS');
    return (error.violations ?? []).map((violation) => violation.field);
  }
  return [];
}

const text = { kind: 'text', text: 'x' };
const letters = (count: number) => 'a'.repeat(count);
const fill = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);
const nest = (levels: number): object => (levels === 1 ? {} : { in: nest(levels - 1) });
const { maxIdLength, maxListLength, maxParts, maxStringLength, maxValueDepth } =
  defaultDecodeLimits;

describe.each(Object.entries({ v1, v03, v03Rest }))('%s', (_, dialect: Dialect) => {
  const message = (more: object, options?: DecodeOptions) =>
    faults(() =>
      dialect.message.decode(
        { messageId: 'm', role: 'ROLE_USER', parts: [text], ...more },
        options,
      ),
    );
  const push = (more: object) =>
    faults(() =>
      dialect.sendMessageRequest.decode({
        message: { messageId: 'm', role: 'ROLE_USER', parts: [text] },
        configuration: {
          taskPushNotificationConfig: { url: 'https://e.com', ...more },
          pushNotificationConfig: { url: 'https://e.com', ...more },
        },
      }),
    );

  test.each(['messageId', 'contextId', 'taskId'])('%s may have 256 characters', (field) => {
    expect(message({ [field]: letters(maxIdLength) })).toEqual([]);
    expect(message({ [field]: letters(maxIdLength + 1) })).toEqual([field]);
  });

  test('an id of a request may have 256 characters', () => {
    expect(faults(() => dialect.getTaskRequest.decode({ id: letters(maxIdLength) }))).toEqual([]);
    expect(faults(() => dialect.getTaskRequest.decode({ id: letters(257) }))).toEqual(['id']);
  });

  test('the limits are options', () => {
    expect(message({ messageId: 'four' }, { limits: { maxIdLength: 4 } })).toEqual([]);
    expect(message({ messageId: 'fives' }, { limits: { maxIdLength: 4 } })).toEqual(['messageId']);
  });

  test('a message may have 1024 parts', () => {
    expect(message({ parts: fill(maxParts, text) })).toEqual([]);
    expect(message({ parts: fill(maxParts + 1, text) })).toEqual(['parts']);
  });

  test('the parts of an artifact are bounded only by the size of the body', () => {
    const task = {
      id: 't',
      contextId: 'c',
      status: { state: 'TASK_STATE_WORKING' },
      artifacts: [{ artifactId: 'a', parts: fill(5000, text) }],
    };
    expect(dialect.task.decode(task).artifacts?.[0]?.parts).toHaveLength(5000);
  });

  test('a list of strings may have 1024 entries', () => {
    expect(message({ extensions: fill(maxListLength, 'u') })).toEqual([]);
    expect(message({ extensions: fill(maxListLength + 1, 'u') })).toEqual(['extensions']);
    expect(message({ referenceTaskIds: fill(maxListLength + 1, 'u') })).toEqual([
      'referenceTaskIds',
    ]);
  });

  test('an entry of a list and a webhook token may have 8192 characters', () => {
    expect(message({ extensions: [letters(maxStringLength)] })).toEqual([]);
    expect(message({ extensions: ['u', letters(maxStringLength + 1)] })).toEqual(['extensions[1]']);
    expect(push({ token: letters(maxStringLength) })).toEqual([]);
    expect(push({ token: letters(maxStringLength + 1) })).toHaveLength(1);
    expect(push({ url: letters(maxStringLength + 1) })).toHaveLength(1);
  });

  test('metadata and data may nest 48 levels', () => {
    expect(message({ metadata: nest(maxValueDepth) })).toEqual([]);
    expect(message({ metadata: nest(maxValueDepth + 1) })).toEqual(['metadata']);
    expect(message({ parts: [{ data: nest(maxValueDepth) }] })).toEqual([]);
    expect(message({ parts: [{ data: nest(maxValueDepth + 1) }] })).toEqual(['parts[0].data']);
    expect(message({ parts: [{ text: '', metadata: nest(maxValueDepth + 1) }] })).toEqual([
      'parts[0].metadata',
    ]);
  });

  test('data of ten thousand levels does not exhaust the stack', () => {
    let deep: object = {};
    for (let level = 0; level < 10_000; level += 1) deep = { in: deep };
    expect(message({ metadata: deep })).toEqual(['metadata']);
  });

  test('a member named __proto__ is refused in metadata that was not parsed by parseJson', () => {
    const metadata: unknown = JSON.parse('{"a":{"__proto__":{"polluted":true}}}');
    expect(message({ metadata })).toEqual(['metadata']);
  });

  test('ids must not contain control characters or half a surrogate pair', () => {
    expect(message({ messageId: 'a\nb' })).toEqual(['messageId']);
    expect(message({ contextId: 'a\u0000' })).toEqual(['contextId']);
    expect(message({ taskId: '\ud800' })).toEqual(['taskId']);
    expect(message({ taskId: 'Überstraße 😀' })).toEqual([]);
  });

  test('at most 16 violations are named', () => {
    expect(message({ parts: fill(15, {}) })).toHaveLength(15);
    expect(message({ parts: fill(100, {}) })).toHaveLength(16);
  });

  test('pageSize is 1 to 100, and historyLength not negative', () => {
    const list = (more: object) => faults(() => dialect.listTasksRequest.decode(more));
    expect(list({ pageSize: 1 })).toEqual([]);
    expect(list({ pageSize: 100 })).toEqual([]);
    expect(list({ pageSize: 0 })).toEqual(['pageSize']);
    expect(list({ pageSize: 101 })).toEqual(['pageSize']);
    expect(list({ historyLength: 0 })).toEqual([]);
    expect(list({ historyLength: -1 })).toEqual(['historyLength']);
    expect(list({ historyLength: 2_147_483_647 })).toEqual([]);
    expect(list({ historyLength: 2_147_483_648 })).toEqual(['historyLength']);
  });
});

test('a card may list 1024 of a kind', () => {
  const card = (interfaces: number, schemes: number) => ({
    name: 'n',
    supportedInterfaces: fill(interfaces, {
      url: 'https://e.com',
      protocolBinding: 'JSONRPC',
      protocolVersion: '1.0',
    }),
    securitySchemes: Object.fromEntries(
      fill(schemes, 0).map((__, index) => [`s${index}`, { mtlsSecurityScheme: {} }]),
    ),
  });
  expect(faults(() => v1.agentCard.decode(card(maxListLength, maxListLength)))).toEqual([]);
  expect(faults(() => v1.agentCard.decode(card(maxListLength + 1, 0)))).toEqual([
    'supportedInterfaces',
  ]);
  expect(faults(() => v1.agentCard.decode(card(1, maxListLength + 1)))).toEqual([
    'securitySchemes',
  ]);
});

test.each([
  ['skills', 'skills', { id: 's', name: 's' }],
  ['signatures', 'signatures', { protected: 'p', signature: 's' }],
  ['capabilities.extensions', 'extensions', { uri: 'u' }],
  ['securityRequirements', 'securityRequirements', { schemes: {} }],
  ['security', 'security', {}],
])('a card may have 1024 %s', (path, field, item) => {
  const card = (count: number) => {
    const value = { [field]: fill(count, item) };
    const supportedInterfaces = [{ url: 'https://e.com', protocolBinding: 'JSONRPC' }];
    const nested = path.includes('.') ? { capabilities: value } : value;
    return { name: 'n', supportedInterfaces, ...nested };
  };
  expect(faults(() => v1.agentCard.decode(card(maxListLength)))).toEqual([]);
  expect(faults(() => v1.agentCard.decode(card(maxListLength + 1)))).toEqual([path]);
});
