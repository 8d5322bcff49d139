/**
 * Loaded before a replica: a wall clock that is wrong by as much as `CLOCK_SHIFT_MS` says, and that
 * the parent can make jump. Timers and the monotonic clock are not touched, as on a real machine.
 */
import type { ToReplica } from './messages.ts';

const real = Date;
let shift = Number(process.env.CLOCK_SHIFT_MS ?? 0);
const now = (): number => real.now() + shift;

globalThis.Date = new Proxy(real, {
  construct: (target, input, made): object =>
    Reflect.construct(target, input.length === 0 ? [now()] : input, made) as object,
  apply: () => new real(now()).toString(),
  get: (target, name): unknown => (name === 'now' ? now : Reflect.get(target, name)),
});

process.on('message', (message: ToReplica) => {
  if ('clockShiftMs' in message) shift = message.clockShiftMs;
});
