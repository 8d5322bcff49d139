import {
  load,
  type MessageTypeDefinition,
  type Options,
  type PackageDefinition,
} from '@grpc/proto-loader';
import { join } from 'node:path';
import { LegateError, type ProtocolVersion } from '../protocol/index.ts';
import { bytes, type Converter, wellKnown } from './well-known.ts';

/** One type of message on the wire, seen as ProtoJSON. */
export interface WireType {
  /** Throws `PARSE_ERROR` for bytes of another message. */
  decode(bytes: Buffer): unknown;
  encode(json: unknown): Buffer;
}

/** What of a `DescriptorProto` is looked at. */
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

/** A field that is not the same in JSON as it is in the decoded message. */
interface SpecialField {
  readonly name: string;
  readonly jsonName: string;
  readonly converter: Converter;
}

type MessageDefinition = MessageTypeDefinition<object, object>;

/**
 * The messages of one protobuf package as ProtoJSON. How a message differs from its JSON (structs,
 * values, times, bytes, names) is worked out once for each type, from its descriptor; what does not
 * differ is not touched.
 */
export class ProtoPackage {
  readonly #definitions: PackageDefinition;
  readonly #name: string;
  readonly #jsonNames: Readonly<Record<string, string>>;
  readonly #converters = new Map<string, Converter | undefined>();

  /** `jsonNames`: by `Type.field`, where JSON has another name than the field. */
  constructor(
    definitions: PackageDefinition,
    name: string,
    jsonNames: Readonly<Record<string, string>> = {},
  ) {
    this.#definitions = definitions;
    this.#name = name;
    this.#jsonNames = jsonNames;
  }

  /** The type of a name, without its package, or of the full name of a well-known one. */
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

  /** The full name of a type: names are looked for in the package, then in those around it. */
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

  /** Undefined for a type that is the same in JSON. No type of ours contains itself. */
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

/** Decodes only the fields that are on the wire, with the names and values of ProtoJSON. */
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
