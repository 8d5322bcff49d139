import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { json } from '../testing/arbitraries.ts';
import * as arbitrary from '../testing/arbitraries.ts';
import { type Codec, readAgentCard, v03, v03Rest, v1 } from '../index.ts';
import { LegateError } from '../errors.ts';
import { fromJsonRpcError, parseJsonRpcRequest } from '../json-rpc.ts';
import { fromRestError } from '../rest-error.ts';

/** Names that decoders look for, so that arbitrary objects get past the first check. */
const fieldNames = `
  message messageId message_id role parts content text data raw url file bytes uri kind
  status state task id taskId contextId name artifact artifacts artifactId history
  metadata statusUpdate extensions configuration pushNotificationConfig
  taskPushNotificationConfig authentication config configs parent schemes scheme value
  tasks skills capabilities supportedInterfaces securitySchemes security
  securityRequirements flows type oauth2SecurityScheme apiKeySecurityScheme
  authorizationCode scopes list error jsonrpc method params code details reason
  fieldViolations __proto__ constructor toString hasOwnProperty length
`
  .trim()
  .split(/\s+/);
const fieldValues = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('task', 'message', 'text', 'data', 'file', 'user', '2.0'),
  },
  { weight: 1, arbitrary: fc.constantFrom('ROLE_USER', 'working', 'tasks/a', 'oauth2', 'apiKey') },
  fc.jsonValue({ maxDepth: 1 }),
  fc.constantFrom(-1, 0, 1, 3, 8, 9, 1e300, 0.5),
);
const { wire } = fc.letrec<{ wire: unknown }>((tie) => ({
  wire: fc.oneof(
    { maxDepth: 5, depthSize: 'medium' },
    fieldValues,
    fc.array(tie('wire'), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.constantFrom(...fieldNames), tie('wire')), { maxLength: 8 })
      // By way of text, as it comes from a peer: `__proto__` becomes a member of its own.
      .map((entries) => {
        const members = entries.map(
          ([key, value]) => `"${key}":${JSON.stringify(value) ?? 'null'}`,
        );
        return JSON.parse(`{${members.join(',')}}`) as unknown;
      }),
  ),
}));

/** A valid value with one member somewhere replaced. */
function spoil(value: unknown, at: number, by: unknown): unknown {
  const slots: { holder: Record<string, unknown>; key: string }[] = [];
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const key of Object.keys(node)) {
      slots.push({ holder: node as Record<string, unknown>, key });
      walk((node as Record<string, unknown>)[key]);
    }
  };
  const copy: unknown = JSON.parse(JSON.stringify(value));
  walk(copy);
  const slot = slots[at % Math.max(slots.length, 1)];
  if (slot !== undefined) slot.holder[slot.key] = by;
  return copy;
}

const before = Object.getOwnPropertyNames(Object.prototype);
afterAll(() => {
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
});

/** Decodes; nothing but the one error may come out, and no prototype may have changed. */
function survive(decode: () => unknown): unknown {
  try {
    const value = decode();
    checkPrototypes(value);
    return value;
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
    expect(error.code).toBe('INVALID_PARAMS');
    expect(error.violations?.length).toBeGreaterThan(0);
    return undefined;
  } finally {
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
  }
}

function checkPrototypes(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  expect([Object.prototype, Array.prototype]).toContain(Object.getPrototypeOf(value));
  for (const item of Object.values(value)) checkPrototypes(item);
}

describe.each(Object.entries({ v1, v03, v03Rest }))('%s', (_, dialect) => {
  const { version: __, ...codecs } = dialect;

  test.each(Object.keys(codecs) as (keyof typeof codecs)[])(
    '%s survives arbitrary JSON, and what it accepts it can write and read again',
    (name) => {
      const codec = codecs[name] as Codec<unknown>;
      fc.assert(
        fc.property(wire, (value) => {
          const decoded = survive(() => codec.decode(value));
          if (decoded === undefined) return;
          const again: unknown = JSON.parse(JSON.stringify(codec.encode(decoded)));
          expect(survive(() => codec.decode(again))).toBeDefined();
        }),
        { numRuns: 150 },
      );
    },
  );

  test('requests and events survive any one member replaced', () => {
    fc.assert(
      fc.property(
        arbitrary.sendMessageRequest,
        arbitrary.streamResponse,
        fc.nat(),
        wire,
        (request, event, at, by) => {
          const sent = spoil(dialect.sendMessageRequest.encode(request), at, by);
          survive(() => dialect.sendMessageRequest.decode(sent));
          const streamed = spoil(dialect.streamResponse.encode(event, false), at, by);
          survive(() => dialect.streamResponse.decode(streamed));
        },
      ),
      { numRuns: 200 },
    );
  });
});

test('readAgentCard survives arbitrary JSON', () => {
  fc.assert(
    fc.property(wire, (value) => {
      survive(() => readAgentCard(value));
      survive(() =>
        readAgentCard({ name: 'n', url: 'u', securitySchemes: value, security: [value] }),
      );
    }),
    { numRuns: 300 },
  );
});

test('the envelopes and errors of peers survive arbitrary JSON', () => {
  fc.assert(
    fc.property(fc.oneof(wire, json), fc.integer({ min: 400, max: 599 }), (value, status) => {
      expect(fromJsonRpcError(value)).toBeInstanceOf(LegateError);
      expect(fromRestError(status, value)).toBeInstanceOf(LegateError);
      try {
        parseJsonRpcRequest(value);
      } catch (error) {
        expect(error).toBeInstanceOf(LegateError);
      }
    }),
    { numRuns: 300 },
  );
});
