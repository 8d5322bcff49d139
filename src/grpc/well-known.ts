import type { JsonValue } from '../protocol/index.ts';

/**
 * Converts a well-known type of protobuf between the decoded plain object and its ProtoJSON form.
 */
export interface Converter {
  toJson(value: unknown): unknown;
  fromJson(json: unknown): unknown;
}

interface WireStruct {
  readonly fields?: Readonly<Record<string, WireValue>>;
}

/** Has at most one member. A value without a kind is read as null. */
interface WireValue {
  readonly nullValue?: unknown;
  readonly numberValue?: number;
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly structValue?: WireStruct;
  readonly listValue?: { readonly values?: readonly WireValue[] };
}

interface WireTimestamp {
  readonly seconds?: number;
  readonly nanos?: number;
}

// The protobuf decoder limits the nesting of values, and therefore the recursion here.

function structToJson(struct: WireStruct): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(struct.fields ?? {})) {
    // Dropped as in JSON bodies: assigning it would change the object's prototype.
    if (name !== '__proto__') object[name] = valueToJson(value);
  }
  return object;
}

function valueToJson(value: WireValue): unknown {
  if (value.stringValue !== undefined) return value.stringValue;
  if (value.numberValue !== undefined) return value.numberValue;
  if (value.boolValue !== undefined) return value.boolValue;
  if (value.structValue !== undefined) return structToJson(value.structValue);
  if (value.listValue !== undefined) return (value.listValue.values ?? []).map(valueToJson);
  return null;
}

function structFromJson(object: { readonly [name: string]: JsonValue }): WireStruct {
  const fields: Record<string, WireValue> = {};
  for (const [name, value] of Object.entries(object)) {
    if (name !== '__proto__') fields[name] = valueFromJson(value);
  }
  return { fields };
}

function valueFromJson(json: JsonValue): WireValue {
  switch (typeof json) {
    case 'string':
      return { stringValue: json };
    case 'number':
      return { numberValue: json };
    case 'boolean':
      return { boolValue: json };
    default:
      break;
  }
  if (json === null) return { nullValue: 0 };
  if (Array.isArray(json)) {
    return { listValue: { values: (json as readonly JsonValue[]).map(valueFromJson) } };
  }
  return { structValue: structFromJson(json as { readonly [name: string]: JsonValue }) };
}

/** Converts a time outside the range of `Date` to text that the decoder of the dialect refuses. */
function timestampToJson({ seconds = 0, nanos = 0 }: WireTimestamp): string {
  const date = new Date(seconds * 1000 + Math.floor(nanos / 1e6));
  return Number.isNaN(date.getTime()) ? `${seconds}s` : date.toISOString();
}

function timestampFromJson(time: string): WireTimestamp {
  const milliseconds = Date.parse(time);
  const seconds = Math.floor(milliseconds / 1000);
  return { seconds, nanos: (milliseconds - seconds * 1000) * 1e6 };
}

// Converters declare the parameter types that the descriptor guarantees. Only methods allow this.

/** Converters by the full names of their types. */
export const wellKnown: { readonly [type: string]: Converter } = {
  'google.protobuf.Struct': { toJson: structToJson, fromJson: structFromJson },
  'google.protobuf.Value': { toJson: valueToJson, fromJson: valueFromJson },
  'google.protobuf.Timestamp': { toJson: timestampToJson, fromJson: timestampFromJson },
};

export const bytes: Converter = {
  toJson: (value: Buffer) => value.toString('base64'),
  fromJson: (json: string) => Buffer.from(json, 'base64'),
};
