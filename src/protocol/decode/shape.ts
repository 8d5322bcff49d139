import type { Part, Role, TaskState } from '../model.ts';
import type { Reader, Wire } from './reader.ts';

/**
 * Where the versions differ in reading the objects that they all have. The structure of messages,
 * tasks and events is read in one place for all of them.
 */
export interface Shape {
  readPart(reader: Reader, wire: Wire): Part;
  role(value: unknown): Role | undefined;
  state(value: unknown): TaskState | undefined;
  /** Called first for each object that 0.3 marks with a `kind`. */
  expectKind(reader: Reader, wire: Wire, kind: Kind): void;
  /** 0.3 calls the parts of a message `content` and the message of a status `update` in its REST form. */
  readonly hasProtoNames: boolean;
  /** Whether bodies may be ProtoJSON of the 0.3 proto. */
  readonly takesProtoJson: boolean;
  /** Whether times may lack their zone. */
  readonly zonelessTimes: boolean;
}

export type Kind = 'message' | 'task' | 'status-update' | 'artifact-update';

/** While it is being made. */
export type Mutable<T> = { -readonly [K in keyof T]: T[K] };
