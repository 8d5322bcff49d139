import {
  load,
  type MessageTypeDefinition,
  type Options,
  type PackageDefinition,
} from '@grpc/proto-loader';
import { join } from 'node:path';
import { LegateError, type ProtocolVersion } from '../protocol/index.ts';
import { bytes, type Converter, wellKnown } from './well-known.ts';

/** One message type, converted between protobuf bytes and ProtoJSON. */
export interface WireType {
  /** Throws `PARSE_ERROR` for bytes that are not a message of this type. */
  decode(bytes: Buffer): unknown;
  encode(json: unknown): Buffer;
}

/** The fields of a `DescriptorProto` that are read. */
interface MessageDescriptor {
  readonly name: string;
  readonly field: readonly FieldDescriptor[];
  readonly nestedType: readonly MessageDescriptor[];
}

interface FieldDescriptor {
  readonly name: string;
  readonly label: string;
  readonly type: string;
  readonly typeName: string;
}

/** A field that differs between JSON and the decoded message. */
interface SpecialField {
  readonly name: string;
  readonly jsonName: string;
  readonly converter: Converter;
}

type MessageDefinition = MessageTypeDefinition<object, object>;

/**
 * Converts the messages of one protobuf package to and from ProtoJSON. The differences between a message
 * and its JSON (structs, values, times, bytes, names) are derived once for each type from its descriptor.
 * Other fields are passed unchanged.
 */
export class ProtoPackage {
  readonly #definitions: PackageDefinition;
  readonly #name: string;
  readonly #jsonNames: Readonly<Record<string, string>>;
  readonly #converters = new Map<string, Converter | undefined>();

  /** `jsonNames`: the JSON names of fields, by `Type.field`, if they differ from the field names. */
  constructor(
    definitions: PackageDefinition,
    name: string,
    jsonNames: Readonly<Record<string, string>> = {},
  ) {
    this.#definitions = definitions;
    this.#name = name;
    this.#jsonNames = jsonNames;
  }

  /** Finds a type by its name without the package, or by the full name of a well-known type. */
  wire(type: string): WireType {
    const definition = this.#find(this.#resolve(type));
    if (definition === undefined) throw new TypeError(`${this.#name} has no message ${type}`);
    const converter = this.#converter(type);
    return {
      decode: (buffer) => {
        let message: object;
        try {
          message = definition.deserialize(buffer);
        } catch (cause) {
          throw new LegateError('PARSE_ERROR', `the message is not a valid ${type} in protobuf`, {
            cause,
          });
        }
        return converter === undefined ? message : converter.toJson(message);
      },
      encode: (json) =>
        definition.serialize((converter === undefined ? json : converter.fromJson(json)) as object),
    };
  }

  /** The full name of a type, searched in the package, then in its parent packages. */
  #resolve(type: string): string {
    const scopes = this.#name.split('.');
    for (let length = scopes.length; length > 0; length -= 1) {
      const name = `${scopes.slice(0, length).join('.')}.${type}`;
      if (Object.hasOwn(this.#definitions, name)) return name;
    }
    return type;
  }

  #find(fullName: string): MessageDefinition | undefined {
    const found = this.#definitions[fullName];
    return found !== undefined && 'serialize' in found ? (found as MessageDefinition) : undefined;
  }

  /** Undefined for a type that is the same in JSON. The A2A types are not recursive. */
  #converter(type: string): Converter | undefined {
    const fullName = this.#resolve(type);
    const known = wellKnown[fullName] ?? this.#converters.get(fullName);
    if (known !== undefined || this.#converters.has(fullName)) return known;
    const descriptor = this.#find(fullName)?.type as MessageDescriptor | undefined;
    const fields = (descriptor?.field ?? []).flatMap((field): readonly SpecialField[] => {
      const jsonName = this.#jsonNames[`${type}.${field.name}`] ?? field.name;
      const converter = this.#fieldConverter(field, descriptor?.nestedType ?? []);
      if (converter === undefined && jsonName === field.name) return [];
      return [{ name: field.name, jsonName, converter: converter ?? unchanged }];
    });
    const made = fields.length === 0 ? undefined : fieldsConverter(fields);
    this.#converters.set(fullName, made);
    return made;
  }

  #fieldConverter(
    field: FieldDescriptor,
    nested: readonly MessageDescriptor[],
  ): Converter | undefined {
    if (field.type === 'TYPE_BYTES') return bytes;
    if (field.type !== 'TYPE_MESSAGE') return undefined;
    const entry = nested.find(({ name }) => name === field.typeName);
    const value = entry?.field.find(({ name }) => name === 'value');
    if (value !== undefined) {
      const converter = this.#fieldConverter(value, []);
      return converter && mapConverter(converter);
    }
    const converter = this.#converter(field.typeName);
    return converter && field.label === 'LABEL_REPEATED' ? listConverter(converter) : converter;
  }
}

type Plain = Record<string, unknown>;

const unchanged: Converter = { toJson: (value) => value, fromJson: (json) => json };

function fieldsConverter(fields: readonly SpecialField[]): Converter {
  return {
    toJson(message: Plain) {
      const json = { ...message };
      for (const { name, jsonName, converter } of fields) {
        const value = json[name];
        if (value === undefined) continue;
        if (jsonName !== name) json[name] = undefined;
        json[jsonName] = converter.toJson(value);
      }
      return json;
    },
    fromJson(json: Plain) {
      const message = { ...json };
      for (const { name, jsonName, converter } of fields) {
        const value = message[jsonName];
        if (value !== undefined) message[name] = converter.fromJson(value);
      }
      return message;
    },
  };
}

function listConverter(item: Converter): Converter {
  return {
    toJson: (list: readonly unknown[]) => list.map((value) => item.toJson(value)),
    fromJson: (list: readonly unknown[]) => list.map((value) => item.fromJson(value)),
  };
}

function mapConverter(item: Converter): Converter {
  const convert = (map: Plain, each: (value: unknown) => unknown): Plain =>
    Object.fromEntries(
      Object.entries(map)
        .filter(([name]) => name !== '__proto__')
        .map(([name, value]) => [name, each(value)]),
    );
  return {
    toJson: (map: Plain) => convert(map, (value) => item.toJson(value)),
    fromJson: (map: Plain) => convert(map, (value) => item.fromJson(value)),
  };
}

/** Decodes only the fields that were sent, with the names and values of ProtoJSON. */
const loadOptions: Options = { keepCase: false, longs: Number, enums: String };

/** Fields with a `json_name`, which the loader ignores. */
const legacyNames = {
  'SendMessageRequest.request': 'message',
  'TaskStatus.update': 'message',
  'SendMessageResponse.msg': 'message',
  'StreamResponse.msg': 'message',
};

interface LoadedPackage {
  readonly name: string;
  readonly types: ProtoPackage;
}

/** The packages of both versions of the protocol. */
export async function loadPackages(): Promise<Record<ProtocolVersion, LoadedPackage>> {
  const [v1, v03] = await Promise.all([
    loadPackage('lf.a2a.v1'),
    loadPackage('a2a.v1', legacyNames),
  ]);
  return { '1.0': v1, '0.3': v03 };
}

/** The package of error details. */
export async function loadStatusPackage(): Promise<ProtoPackage> {
  return (await loadPackage('google.rpc')).types;
}

async function loadPackage(
  name: string,
  jsonNames?: Readonly<Record<string, string>>,
): Promise<LoadedPackage> {
  const file = join(import.meta.dirname, 'protos', `${name}.proto`);
  return { name, types: new ProtoPackage(await load(file, loadOptions), name, jsonNames) };
}
