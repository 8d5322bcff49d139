/** The instruction for an agent of the integration test kit. */
export type Instruction =
  | { readonly kind: 'answer'; readonly text: string; readonly isHeld: boolean }
  | { readonly kind: 'steps'; readonly steps: readonly Instruction[] }
  | Call;

/** Calls another agent, with the unchanged instruction for it. */
export interface Call {
  readonly kind: 'call';
  readonly transport: string;
  readonly agent: string;
  readonly instruction: Buffer;
  readonly isStreamed: boolean;
  readonly webhook?: string;
  readonly resubscribes: boolean;
}

/** Reads the protobuf message `itk.Instruction`; undefined for other bytes. */
export function readInstruction(bytes: Buffer): Instruction | undefined {
  for (const [number, inner] of fieldsOf(bytes)) {
    const fields = fieldsOf(inner);
    const bytesOf = (wanted: number) => fields.find(([field]) => field === wanted)?.[1];
    const textOf = (wanted: number) => bytesOf(wanted)?.toString() ?? '';
    // A boolean is a varint: absent, or one byte.
    const isSet = (wanted: number) => bytesOf(wanted)?.[0] === 1;
    if (number === 1) {
      const push = bytesOf(6);
      const webhook = push && fieldsOf(push)[0]?.[1].toString();
      return {
        kind: 'call',
        transport: textOf(1),
        agent: textOf(2),
        instruction: bytesOf(3) ?? Buffer.alloc(0),
        isStreamed: isSet(4),
        ...(webhook !== undefined && {
          webhook: /^https?:/.test(webhook) ? webhook : `http://${webhook}`,
        }),
        resubscribes: bytesOf(7) !== undefined,
      };
    }
    if (number === 2) return { kind: 'answer', text: textOf(1), isHeld: isSet(2) };
    if (number === 3) {
      const steps = fields.flatMap(([field, step]) =>
        field === 1 ? (readInstruction(step) ?? []) : [],
      );
      return { kind: 'steps', steps };
    }
  }
  return undefined;
}

/**
 * The fields of a message of strings, messages and varints; empty if the bytes are not such a message.
 */
function fieldsOf(bytes: Buffer): readonly (readonly [number: number, value: Buffer])[] {
  const fields: [number, Buffer][] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; at < bytes.length; shift += 7) {
      const byte = bytes[at] ?? 0;
      at += 1;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < bytes.length) {
    const tag = varint();
    const type = tag % 8;
    if (type !== 0 && type !== 2) return [];
    const start = type === 2 ? varint() + at : at;
    if (type === 2) {
      fields.push([Math.floor(tag / 8), bytes.subarray(at, start)]);
      at = start;
    } else {
      varint();
      fields.push([Math.floor(tag / 8), bytes.subarray(start, at)]);
    }
  }
  return fields;
}
