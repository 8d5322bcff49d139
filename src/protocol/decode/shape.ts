import type { Part, Role, TaskState } from '../model.ts';
import type { Reader, Wire } from './reader.ts';

/**
 * Version-specific readers for the objects that all versions share. The structure of messages, tasks and
 * events is read in one place for all versions.
 */
export interface Shape {
  readPart(reader: Reader, wire: Wire): Part;
  role(value: unknown): Role | undefined;
  state(value: unknown): TaskState | undefined;
  /** Called first for each object that 0.3 marks with a `kind`. */
  expectKind(reader: Reader, wire: Wire, kind: Kind): void;
  /**
   * In its REST form, 0.3 names the parts of a message `content` and the message of a status `update`.
   */
  readonly hasProtoNames: boolean;
  /** Whether bodies can be ProtoJSON of the 0.3 proto. */
  readonly takesProtoJson: boolean;
  /** Whether times can lack a zone. */
  readonly zonelessTimes: boolean;
}

export type Kind = 'message' | 'task' | 'status-update' | 'artifact-update';

/** A type with writable members, for building a value. */
export type Mutable<T> = { -readonly [K in keyof T]: T[K] };
