import { expect, test } from 'vitest';
import { Problems } from '../../config/index.ts';
import { loadDomain } from '../domain/domain.ts';
import { loadFlows } from '../flows/flow.ts';
import { project } from '../testing/project.ts';
import { defaultFlows, defaultResponses } from './defaults.ts';

/** Every pattern that a project may count on. */
const catalogue = [
  'pattern_cancel_flow',
  'pattern_cannot_handle',
  'pattern_chitchat',
  'pattern_clarification',
  'pattern_code_change',
  'pattern_collect_information',
  'pattern_completed',
  'pattern_continue_interrupted',
  'pattern_correction',
  'pattern_customer_satisfaction',
  'pattern_external_agent_processing',
  'pattern_human_handoff',
  'pattern_internal_error',
  'pattern_repeat_bot_messages',
  'pattern_restart',
  'pattern_search',
  'pattern_session_start',
  'pattern_skip_question',
  'pattern_user_silence',
  'pattern_validate_slot',
];

test('the default patterns are complete and load without a problem', () => {
  const problems = new Problems();
  const { flows } = loadFlows([], problems, { defaults: [defaultFlows] });
  loadDomain([], problems, { defaults: [defaultResponses] });
  expect(problems.all).toEqual([]);
  expect([...flows.keys()].sort()).toEqual(catalogue);
});

test('what a default pattern says is one of the default responses', () => {
  const { flows, domain } = project({});
  const said = [...flows.values()]
    .flatMap((flow) => [...flow.steps.values()])
    .flatMap((step) => {
      if (step.kind === 'collect') return [step.utter];
      return step.kind === 'action' && step.action.startsWith('utter_') ? [step.action] : [];
    });
  expect(said.filter((name) => !domain.responses.has(name))).toEqual([]);
});

test.each(catalogue)('a project replaces %s by a flow of the same id', (id) => {
  const { flows } = project({
    flows: `flows: {${id}: {description: our own, steps: [{noop: true, next: END}]}}`,
  });
  expect(flows.get(id)).toMatchObject({ description: 'our own', isPattern: true });
  expect([...flows.keys()].sort()).toEqual(catalogue);
});
