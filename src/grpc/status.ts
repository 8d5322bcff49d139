import { Metadata, status as numbers } from '@grpc/grpc-js';
import { errorHeaders } from '../service/index.ts';
import {
  errorDetails,
  type ErrorProfile,
  fromRestError,
  type JsonObject,
  type LegateError,
  statusOf,
  toPublicError,
} from '../protocol/index.ts';
import { loadStatusPackage, type WireType } from './proto-json.ts';

/** The gRPC status of a failed call. */
export interface CallStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

const detailsKey = 'grpc-status-details-bin';
const typePrefix = 'type.googleapis.com/google.rpc.';
/** Peers accept headers of a few KiB, and two headers contain the text, so longer texts are cut. */
const maxTextLength = 500;

interface WireStatus {
  readonly code?: number;
  readonly message?: string;
  readonly details?: readonly WireAny[];
}

/** The loader's built-in definition keeps the snake-case name of this field. */
interface WireAny {
  readonly type_url?: string;
  readonly value?: string;
}

/** Converts errors to gRPC statuses and back. The details contain the fields of the error. */
export class Statuses {
  readonly #status: WireType;
  /** Detail types by the name after `google.rpc.`. */
  readonly #details: ReadonlyMap<string, WireType>;

  private constructor(status: WireType, details: ReadonlyMap<string, WireType>) {
    this.#status = status;
    this.#details = details;
  }

  static async load(): Promise<Statuses> {
    const types = await loadStatusPackage();
    const kinds = ['ErrorInfo', 'BadRequest', 'RetryInfo'] as const;
    return new Statuses(
      types.wire('Status'),
      new Map(kinds.map((kind) => [kind, types.wire(kind)])),
    );
  }

  /** Converts a thrown value to the status that the caller gets. */
  of(thrown: unknown, profile?: ErrorProfile): CallStatus {
    const error = toPublicError(thrown);
    const code = numbers[statusOf(error.code, profile).grpc];
    // The header is percent-encoded, which fails for half a surrogate pair.
    const message = error.message.slice(0, maxTextLength).toWellFormed();
    const metadata = metadataOf(errorHeaders(error));
    const details = errorDetails(error).flatMap((detail) => this.#encodeDetail(detail));
    metadata.set(detailsKey, this.#status.encode({ code, message, details }));
    return { code, details: message, metadata };
  }

  /** Decodes the error from the details of a status; undefined without details. */
  read(metadata: Metadata): LegateError | undefined {
    const [value] = metadata.get(detailsKey);
    if (!Buffer.isBuffer(value)) return undefined;
    const { message, details = [] } = this.#status.decode(value) as WireStatus;
    return fromRestError(500, {
      error: { message, details: details.flatMap((detail) => this.#decodeDetail(detail)) },
    });
  }

  #encodeDetail(detail: JsonObject): readonly WireAny[] {
    const { '@type': typeUrl, ...fields } = detail;
    if (typeof typeUrl !== 'string') return [];
    const wire = this.#details.get(typeUrl.slice(typePrefix.length));
    if (wire === undefined) return [];
    const { retryDelay } = fields;
    const message =
      typeof retryDelay === 'string' ? { retryDelay: durationOf(retryDelay) } : fields;
    return [{ type_url: typeUrl, value: wire.encode(message).toString('base64') }];
  }

  #decodeDetail({ type_url: typeUrl = '', value = '' }: WireAny): readonly object[] {
    const wire = this.#details.get(typeUrl.slice(typePrefix.length));
    if (wire === undefined || !typeUrl.startsWith(typePrefix)) return [];
    const message = wire.decode(Buffer.from(value, 'base64')) as {
      readonly retryDelay?: { readonly seconds?: number; readonly nanos?: number };
    };
    const { retryDelay } = message;
    if (retryDelay === undefined) return [{ '@type': typeUrl, ...message }];
    const seconds = (retryDelay.seconds ?? 0) + (retryDelay.nanos ?? 0) / 1e9;
    return [{ '@type': typeUrl, retryDelay: `${seconds}s` }];
  }
}

/** Converts a duration of ProtoJSON in seconds, `1.5s`. */
function durationOf(text: string): object {
  const value = Number.parseFloat(text);
  const seconds = Math.floor(value);
  return { seconds, nanos: Math.round((value - seconds) * 1e9) };
}

/** Converts headers to metadata. Drops values that are not printable ASCII. */
export function metadataOf(
  headers: Readonly<Record<string, string | readonly string[]>>,
): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) {
    for (const item of typeof value === 'string' ? [value] : value) {
      if (/^[\x20-\x7e]*$/.test(item)) metadata.add(name, item);
    }
  }
  return metadata;
}
