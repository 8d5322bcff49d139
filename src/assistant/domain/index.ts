export { coerceSlotValue } from './coerce.ts';
