import { contains, isEqual, isList, isMapping, order } from './value.ts';
import type { Value } from './value.ts';

/** What stands behind `is`: `x is defined`, `n is divisibleby 3`. */
export type Test = (value: Value, operand: Value) => boolean;

const compare =
  (holds: (sign: number) => boolean): Test =>
  (value, operand) => {
    const sign = order(value, operand);
    return sign !== undefined && holds(sign);
  };

const equal: Test = (value, operand) => isEqual(value, operand);
const greater = compare((sign) => sign > 0);
const less = compare((sign) => sign < 0);

export const tests: Readonly<Record<string, Test>> = {
  boolean: (value) => typeof value === 'boolean',
  defined: (value) => value !== undefined,
  divisibleby: (value, operand) => Number(value) % Number(operand) === 0,
  eq: equal,
  equalto: equal,
  even: (value) => typeof value === 'number' && value % 2 === 0,
  false: (value) => value === false,
  float: (value) => typeof value === 'number' && !Number.isInteger(value),
  ge: compare((sign) => sign >= 0),
  greaterthan: greater,
  gt: greater,
  in: (value, operand) => contains(operand, value),
  integer: (value) => Number.isInteger(value),
  iterable: (value) => isList(value) || isMapping(value) || typeof value === 'string',
  le: compare((sign) => sign <= 0),
  lessthan: less,
  lower: (value) => typeof value === 'string' && value === value.toLowerCase(),
  lt: less,
  mapping: isMapping,
  ne: (value, operand) => !isEqual(value, operand),
  none: (value) => value === null,
  number: (value) => typeof value === 'number',
  odd: (value) => typeof value === 'number' && Math.abs(value % 2) === 1,
  sequence: (value) => isList(value) || typeof value === 'string',
  sameas: (value, operand) => value === operand,
  string: (value) => typeof value === 'string',
  true: (value) => value === true,
  undefined: (value) => value === undefined,
  upper: (value) => typeof value === 'string' && value === value.toUpperCase(),
};
