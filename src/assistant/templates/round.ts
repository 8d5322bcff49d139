import { argument, type Operation, toNumber } from './operation.ts';
import { toText } from './value.ts';

/**
 * The filter `round`. Like Python, `common` rounds what the binary number really is (2.675 is a
 * little less), and an exact half to the even neighbour.
 */
export const round: Operation = (value, call) => {
  const digits = Math.min(15, Math.max(-15, toNumber(argument(call, 0, 'precision'), 0)));
  const method = toText(argument(call, 1, 'method')) || 'common';
  const number = toNumber(value, 0);
  if (method === 'common') return nearest(number, digits);
  const operation = { floor: Math.floor, ceil: Math.ceil }[method];
  if (operation === undefined) throw new RangeError('round knows common, floor and ceil');
  return operation(number * 10 ** digits) / 10 ** digits;
};

function nearest(number: number, digits: number): number {
  if (Math.abs(number) >= 1e21) return number;
  if (digits < 0) return nearest(number * 10 ** digits, 0) / 10 ** digits;
  const rounded = Number(number.toFixed(digits));
  const isNearHalf = Math.abs(((Math.abs(number) * 10 ** digits) % 1) - 0.5) < 1e-6;
  if (!isNearHalf) return rounded;
  const behind = number.toFixed(100).split('.')[1]?.slice(digits) ?? '';
  if (!/^50*$/.test(behind)) return rounded;
  const last = Number(Math.abs(rounded).toFixed(digits).at(-1));
  // A half that `toFixed` took away from zero to an odd digit belongs to the other neighbour.
  return last % 2 === 0
    ? rounded
    : Number((rounded - Math.sign(number) * 10 ** -digits).toFixed(digits));
}
