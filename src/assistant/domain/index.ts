export { builtinSlots } from './builtin-slots.ts';
export { type Coerced, coerceSlotValue } from './coerce.ts';
export { defaultActions } from './default-actions.ts';
export { type LoadDomainOptions, type LoadedDomain, loadDomain } from './domain.ts';
export { readCondition, readRejections, readResponseName } from './uses.ts';
export { type Use } from './uses.ts';
