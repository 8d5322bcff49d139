import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import * as arbitrary from '../protocol/testing/arbitraries.ts';
import { agentCard } from '../protocol/testing/card-arbitraries.ts';
import {
  type AgentCard,
  type Dialect,
  LegateError,
  type Operation,
  readAgentCard,
  v03Rest,
  v1,
} from '../protocol/index.ts';
import { loadMethods, type RpcMethod } from './methods.ts';

let methods: readonly RpcMethod[];
beforeAll(async () => {
  methods = await loadMethods();
});

function methodOf(operation: Operation, version: '1.0' | '0.3' = '1.0'): RpcMethod {
  const found = methods.find((one) => one.operation === operation && one.version === version);
  if (found === undefined) throw new Error(`no ${operation} in ${version}`);
  return found;
}

/**
 * Empty lists are not on the wire, nor a configuration that says nothing, and base64 has several
 * spellings of the same bytes.
 */
function prune(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, item: unknown) => {
    if (Array.isArray(item) && item.length === 0) return undefined;
    const isConfiguration = key === 'configuration' && typeof item === 'object' && item !== null;
    if (isConfiguration && Object.keys(item).length === 0) return undefined;
    if (key !== 'raw' || typeof item !== 'string') return item;
    return Buffer.from(item, 'base64').toString('base64');
  }) as unknown;
}

describe.each([
  ['1.0', v1],
  ['0.3', v03Rest],
] as const)('%s: protobuf loses nothing that its JSON has', (version, dialect: Dialect) => {
  const codecs = {
    sendMessage: [dialect.sendMessageRequest, arbitrary.sendMessageRequest],
    getTask: [dialect.getTaskRequest, arbitrary.getTaskRequest],
    listTasks: [dialect.listTasksRequest, arbitrary.listTasksRequest],
    cancelTask: [dialect.cancelTaskRequest, arbitrary.cancelTaskRequest],
    subscribeToTask: [dialect.subscribeToTaskRequest, arbitrary.subscribeToTaskRequest],
    getTaskPushNotificationConfig: [
      dialect.getTaskPushNotificationConfigRequest,
      arbitrary.deleteTaskPushNotificationConfigRequest,
    ],
    listTaskPushNotificationConfigs: [
      dialect.listTaskPushNotificationConfigsRequest,
      arbitrary.listTaskPushNotificationConfigsRequest,
    ],
    deleteTaskPushNotificationConfig: [
      dialect.deleteTaskPushNotificationConfigRequest,
      arbitrary.deleteTaskPushNotificationConfigRequest,
    ],
  } as const;
  const requests = Object.entries(codecs).filter(
    ([operation]) => version === '1.0' || operation !== 'listTasks',
  );

  test.each(requests)('request of %s', (operation, [codec, values]) => {
    const { request } = methodOf(operation as Operation, version);
    fc.assert(
      fc.property(values as fc.Arbitrary<never>, (value) => {
        const json = codec.encode(value);
        // In 0.3, 0 means what absence means.
        fc.pre(version === '1.0' || !JSON.stringify(json).includes('"historyLength":0'));
        const arrived = codec.decode(request.decode(request.encode(json)));
        expect(prune(arrived)).toEqual(prune(codec.decode(json)));
      }),
      { numRuns: 50 },
    );
  });

  test.each([
    ['sendMessage', dialect.sendMessageResponse, arbitrary.sendMessageResponse],
    ['getTask', dialect.task, arbitrary.task],
    [
      'createTaskPushNotificationConfig',
      dialect.taskPushNotificationConfig,
      arbitrary.taskPushNotificationConfig,
    ],
    [
      'listTaskPushNotificationConfigs',
      dialect.listTaskPushNotificationConfigsResponse,
      arbitrary.listTaskPushNotificationConfigsResponse,
    ],
  ] as const)('response of %s', (operation, codec, values) => {
    const { response } = methodOf(operation, version);
    fc.assert(
      fc.property(values as fc.Arbitrary<never>, (value) => {
        const json = codec.encode(value);
        const arrived = codec.decode(response.decode(response.encode(json)));
        expect(prune(arrived)).toEqual(prune(codec.decode(json)));
      }),
      { numRuns: 50 },
    );
  });

  test('events of a stream, and in 0.3 whether they are the last', () => {
    const { response } = methodOf('sendStreamingMessage', version);
    fc.assert(
      fc.property(arbitrary.streamResponse, fc.boolean(), (value, isLast) => {
        const json = dialect.streamResponse.encode(value, isLast);
        const wire = response.decode(response.encode(json)) as { statusUpdate?: object };
        expect(prune(dialect.streamResponse.decode(wire))).toEqual(
          prune(dialect.streamResponse.decode(json)),
        );
        if (version === '0.3' && wire.statusUpdate !== undefined) {
          expect(wire.statusUpdate).toMatchObject({ final: isLast });
        }
      }),
      { numRuns: 100 },
    );
  });
});

test('1.0: a list of tasks', () => {
  const { response } = methodOf('listTasks');
  fc.assert(
    fc.property(arbitrary.listTasksResponse, (value) => {
      const arrived = v1.listTasksResponse.decode(response.decode(response.encode(value)));
      expect(prune(arrived)).toEqual(prune(value));
    }),
    { numRuns: 50 },
  );
});

test('1.0: a card', () => {
  const { response } = methodOf('getExtendedAgentCard');
  fc.assert(
    fc.property(agentCard, (card) => {
      const arrived = readAgentCard(response.decode(response.encode(v1.agentCard.encode(card))));
      // Empty maps are not on the wire either.
      const { securitySchemes, ...rest } = readAgentCard(card);
      expect(prune(arrived)).toEqual(
        prune({
          ...rest,
          ...(Object.keys(securitySchemes ?? {}).length > 0 && { securitySchemes }),
        }),
      );
    }),
    { numRuns: 50 },
  );
});

test('0.3: a card has its security in the form of its proto', () => {
  const card: AgentCard = {
    name: 'a',
    description: 'd',
    version: '1.0.0',
    supportedInterfaces: [
      { url: 'https://e.com', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      { url: 'e.com:443', protocolBinding: 'GRPC', protocolVersion: '0.3' },
    ],
    capabilities: { streaming: true, extendedAgentCard: true },
    securitySchemes: {
      metadata: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
      key: { apiKeySecurityScheme: { location: 'header', name: 'x-key' } },
    },
    securityRequirements: [{ schemes: { metadata: { list: ['read'] } } }],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [
      {
        id: 's',
        name: 's',
        description: 's',
        tags: ['t'],
        securityRequirements: [{ schemes: { key: { list: [] } } }],
      },
    ],
  };
  const { response } = methodOf('getExtendedAgentCard', '0.3');
  const wire = response.decode(response.encode(v03Rest.agentCard.encode(card)));
  expect(wire).toMatchObject({
    protocolVersion: '0.3.0',
    url: 'https://e.com',
    preferredTransport: 'JSONRPC',
    supportsAuthenticatedExtendedCard: true,
    security: [{ schemes: { metadata: { list: ['read'] } } }],
  });
  expect(prune(readAgentCard(wire))).toEqual(prune(card));
});

describe('the bytes are those of the protocol', () => {
  const decode = (operation: Operation, version: '1.0' | '0.3', hex: string) =>
    methodOf(operation, version).request.decode(Buffer.from(hex.replaceAll(' ', ''), 'hex'));

  test.each([
    [
      'a number that is 0 and set',
      'getTask',
      '1.0',
      '12 01 74 18 00',
      { id: 't', historyLength: 0 },
    ],
    ['nothing at all', 'getTask', '1.0', '', {}],
    [
      'a page size beside a tenant of a higher number',
      'listTaskPushNotificationConfigs',
      '1.0',
      '0a 01 74 10 05 22 01 78',
      { taskId: 't', pageSize: 5, tenant: 'x' },
    ],
    [
      'bytes, and data that is null',
      'sendMessage',
      '1.0',
      '12 14 0a 01 6d 20 01 2a 05 12 03 fb ef ff 2a 04 22 02 08 00 2a 00',
      {
        message: {
          messageId: 'm',
          role: 'ROLE_USER',
          parts: [{ raw: '++//' }, { data: null }, {}],
        },
      },
    ],
    [
      'a time',
      'listTasks',
      '1.0',
      '3a 0b 08 80 8b d2 bb 06 10 c0 96 b1 02 18 04',
      { statusTimestampAfter: '2025-01-01T00:00:00.005Z', status: 'TASK_STATE_FAILED' },
    ],
    ['a resource name', 'getTask', '0.3', '0a 07 74 61 73 6b 73 2f 74 10 00', { name: 'tasks/t' }],
    [
      'a message called request, parts called content',
      'sendMessage',
      '0.3',
      '0a 0a 0a 01 6d 20 01 2a 03 0a 01 78',
      { message: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'x' }] } },
    ],
    [
      'a configuration that leaves blocking out',
      'sendMessage',
      '0.3',
      '0a 00 12 02 18 00',
      { message: {}, configuration: { blocking: false } },
    ],
  ] as const)('%s', (_what, operation, version, hex, json) => {
    const prepared = JSON.parse(JSON.stringify(decode(operation, version, hex))) as unknown;
    expect(prepared).toEqual(json);
  });

  test('0.3 spells a cancelled task with two Ls, under the same number', () => {
    const { response } = methodOf('getTask', '0.3');
    const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_CANCELED' } } as const;
    const bytes = response.encode(v03Rest.task.encode(task));
    expect(bytes.toString('hex')).toBe('0a01741201631a020805');
    expect(response.decode(bytes)).toMatchObject({ status: { state: 'TASK_STATE_CANCELLED' } });
  });
});

describe('what comes over the wire is not trusted', () => {
  const message = (part: object) => ({
    message: { messageId: 'm', role: 'ROLE_USER', parts: [part] },
  });
  const arrive = (json: object) => {
    const { request } = methodOf('sendMessage');
    return v1.sendMessageRequest.decode(request.decode(request.encode(json)));
  };

  test('a member named __proto__ is dropped, as from JSON', () => {
    const one = Buffer.from('11000000000000f03f', 'hex');
    const entry = (name: string) =>
      field(1, Buffer.concat([field(1, Buffer.from(name)), field(2, one)]));
    const metadata = field(4, Buffer.concat([entry('__proto__'), entry('a')]));
    const decoded = methodOf('sendMessage').request.decode(metadata) as { metadata: object };
    expect(decoded.metadata).toEqual({ a: 1 });
    expect(Object.getPrototypeOf(decoded.metadata)).toBe(Object.prototype);
  });

  test('numbers that JSON has not, and times that no calendar has, are refused', () => {
    expect(() => arrive(message({ data: Number.NaN }))).toThrow('not finite');
    const { request } = methodOf('listTasks');
    const far = request.decode(Buffer.from('3a0a08ffffffffffffffff7f', 'hex'));
    expect(() => v1.listTasksRequest.decode(far)).toThrow('statusTimestampAfter');
    const later = request.decode(Buffer.from('3a0808ffffffffffff7f', 'hex'));
    expect(() => v1.listTasksRequest.decode(later)).toThrow('statusTimestampAfter');
  });

  test('an unknown enum value is refused by name', () => {
    const { request } = methodOf('listTasks');
    const wire = request.decode(Buffer.from('1863', 'hex'));
    expect(() => v1.listTasksRequest.decode(wire)).toThrow('status: must be a task state');
  });

  test('values nest as deep as in JSON, and no deeper than the stack can bear', () => {
    const nested = (levels: number) => {
      let value: unknown = 1;
      for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { value };
      return value;
    };
    const deep = nested(48);
    expect(arrive(message({ data: deep })).message.parts).toEqual([{ data: deep }]);
    // Lists within lists, written from the inside out.
    let bytes: Buffer = Buffer.alloc(0);
    for (let level = 0; level < 5_000; level += 1) bytes = field(6, field(1, bytes));
    const request = field(2, field(5, field(4, bytes)));
    expect(() => methodOf('sendMessage').request.decode(request)).toThrow(
      expect.objectContaining({ code: 'PARSE_ERROR' }),
    );
  });

  test('bytes that are not message are a PARSE_ERROR, and all others decode or are refused', () => {
    const valid = methodOf('sendMessage').request.encode(message({ data: { a: [1, 'x', null] } }));
    const mangled = fc
      .tuple(fc.nat({ max: valid.length - 1 }), fc.nat({ max: 255 }))
      .map(([at, byte]) => Buffer.from(valid).fill(byte, at, at + 1));
    const cut = fc.nat({ max: valid.length }).map((length) => valid.subarray(0, length));
    const noise = fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.oneof(mangled, cut, noise), (bytes) => {
        for (const [version, dialect] of [
          ['1.0', v1],
          ['0.3', v03Rest],
        ] as const) {
          try {
            const json = methodOf('sendMessage', version).request.decode(bytes);
            dialect.sendMessageRequest.decode(json);
          } catch (error) {
            expect(error).toBeInstanceOf(LegateError);
            expect(['PARSE_ERROR', 'INVALID_PARAMS']).toContain((error as LegateError).code);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

/** A field of bytes, text or a message. */
function field(number: number, content: Buffer): Buffer {
  const head = [(number << 3) | 2];
  let { length } = content;
  while (length > 127) {
    head.push((length & 127) | 128);
    length >>>= 7;
  }
  return Buffer.concat([Buffer.from([...head, length]), content]);
}
