import { enumName } from '../../decode/scalars.ts';
import type { Shape } from '../../decode/shape.ts';
import { roles, taskStates } from '../../model.ts';
import { readPart } from './part.ts';

export const shape: Shape = {
  readPart,
  role: (value) => enumName(value, roles),
  state: (value) => enumName(value, taskStates),
  // 1.x has no kinds: a field of that name is unknown, and unknown fields are ignored.
  expectKind: () => undefined,
  hasProtoNames: false,
  takesProtoJson: false,
  zonelessTimes: false,
};
