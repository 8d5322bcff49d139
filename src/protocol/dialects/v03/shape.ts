import type { Reader, Wire } from '../../decode/reader.ts';
import { isUnset } from '../../decode/scalars.ts';
import type { Kind, Shape } from '../../decode/shape.ts';
import { roleOf, stateOf } from './names.ts';
import { type FileBytes, readPart } from './part.ts';

/** Many peers leave `kind` out, so only a wrong one is a fault. */
function expectKind(reader: Reader, wire: Wire, kind: Kind): void {
  if (!isUnset(wire.kind) && wire.kind !== kind) reader.fail('kind', `must be ${kind}`);
}

export const shape: Shape = {
  readPart: (reader, wire) => readPart(reader, wire, { isProto: false, fileBytes: 'once' }),
  role: roleOf,
  state: stateOf,
  expectKind,
  hasProtoNames: true,
  takesProtoJson: false,
  zonelessTimes: true,
};

/** The same, for bodies that may be ProtoJSON. */
export function restShape(fileBytes: FileBytes): Shape {
  return {
    ...shape,
    takesProtoJson: true,
    readPart: (reader, wire) => readPart(reader, wire, { isProto: true, fileBytes }),
  };
}
