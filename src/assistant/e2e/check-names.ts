import { type Problems, suggest } from '../../config/index.ts';
import { defaultActions } from '../domain/index.ts';
import type { Project } from '../project/index.ts';
import type { NameUse, TestCase } from './model.ts';
import { place } from './report.ts';

/**
 * A test that speaks of something the project does not have could never fail, or never pass.
 * @example
 * const { cases, problems } = await findTests('tests', '.', process.env);
 * checkNames(cases, project, problems);
 * problems.throwIfErrors();
 */
export function checkNames(
  cases: readonly TestCase[],
  { domain, flows, endpoints }: Project,
  problems: Problems,
): void {
  const names: Readonly<Record<NameUse['kind'], ReadonlySet<string>>> = {
    slot: new Set(domain.slots.keys()),
    flow: new Set(flows.keys()),
    response: new Set(domain.responses.keys()),
    action: new Set([...domain.actions.keys(), ...domain.responses.keys(), ...defaultActions]),
  };
  const check = ({ kind, name }: NameUse, position: TestCase['position']) => {
    if (names[kind].has(name)) return;
    problems.error({ position, path: '' }, `there is no ${kind} "${name}" in the project`, {
      hint: suggest(name, names[kind]),
    });
  };
  const judges = new Map(
    cases.flatMap(({ judge }) => (judge === undefined ? [] : [[place(judge.position), judge]])),
  );
  for (const { modelGroup, position } of judges.values()) {
    if (endpoints.modelGroups.has(modelGroup)) continue;
    const problem = `there is no model group "${modelGroup}" in endpoints.yml`;
    const hint = suggest(modelGroup, endpoints.modelGroups.keys());
    problems.error({ position, path: 'llm_judge.llm.model_group' }, problem, { hint });
  }
  for (const test of cases) {
    for (const name of Object.keys(test.slots)) check({ kind: 'slot', name }, test.position);
    for (const name of test.stubs.keys()) check({ kind: 'action', name }, test.position);
    for (const { uses, position } of test.steps.flatMap((step) => step.checks)) {
      for (const use of uses) check(use, position);
    }
  }
}
