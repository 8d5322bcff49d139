import { load, type Options } from '@grpc/proto-loader';
import { join } from 'node:path';
import type { ProtocolVersion } from '../protocol/index.ts';
import { ProtoPackage } from './proto-json.ts';

/** Only what is on the wire comes out, by the names and values that ProtoJSON has. */
const options: Options = { keepCase: false, longs: Number, enums: String };

/** Where the JSON name of a field is not the usual one. The loader does not heed `json_name`. */
const legacyNames = {
  'SendMessageRequest.request': 'message',
  'TaskStatus.update': 'message',
  'SendMessageResponse.msg': 'message',
  'StreamResponse.msg': 'message',
};

export interface LoadedPackage {
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
  return { name, types: new ProtoPackage(await load(file, options), name, jsonNames) };
}
