import type { ValidationScope } from './scope.ts';
import { validateConditions } from './validate-conditions.ts';
import { validateCycles, validateFlows } from './validate-flows.ts';
import { validateCalls, validateNames } from './validate-names.ts';

export { type ValidationScope } from './scope.ts';

/** Checks that everything a project uses exists and may be used so; reports all there is. */
export function validate(scope: ValidationScope): void {
  validateNames(scope);
  validateConditions(scope);
  validateFlows(scope);
  validateCalls(scope);
  validateCycles(scope);
}
