import { expect, test } from 'vitest';
import { Problems } from '../../config/index.ts';
import { scriptedModel } from '../../models/index.ts';
import { loadDomain } from '../domain/domain.ts';
import { loadFlows } from '../flows/flow.ts';
import { llmGenerator } from '../generators/llm/llm-generator.ts';
import { Conversation } from '../testing/conversation.ts';
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

test('the default responses have the names that projects replace them by', () => {
  const { domain } = project({});
  const documented = `
    utter_ask_continue_conversation utter_ask_continue_interrupted_flow_confirmation utter_ask_csat_score
    utter_ask_interrupted_flow_to_continue utter_ask_rephrase utter_ask_still_there
    utter_boolean_slot_rejection utter_can_do_something_else utter_cannot_handle
    utter_categorical_slot_rejection utter_clarification_no_options_rasa
    utter_clarification_options_rasa utter_closing_words utter_corrected_previous_input
    utter_csat_thank_you_satisfied utter_csat_thank_you_unsatisfied utter_float_slot_rejection
    utter_flow_cancelled_rasa utter_free_chitchat_response utter_human_handoff_not_available
    utter_inform_code_change utter_inform_hangup utter_internal_error_rasa utter_no_knowledge_base
    utter_no_relevant_answer_found utter_skip_question_answer utter_user_input_empty_error_rasa
    utter_user_input_too_long_error_rasa`;
  const names = documented.trim().split(/\s+/);
  expect(names.filter((name) => !domain.responses.has(name))).toEqual([]);
});

test.each([
  ['a request out of scope', 'start flow order_pizza', 'That is not for me.'],
  ['a request that the model calls out of scope', 'cannot handle', 'That is not for me.'],
  ['an answer without a command', 'I would rather not.', 'Come again?'],
])('%s leads to its own response', async (_, answer, expected) => {
  const shop = project({
    domain: `
responses:
  utter_cannot_handle: [{text: That is not for me.}]
  utter_ask_rephrase: [{text: Come again?}]
  utter_sold: [{text: Sold.}]
`,
    flows: 'flows: {buy: {description: Buy a flower., steps: [{action: utter_sold}]}}',
  });
  const generator = llmGenerator({ model: scriptedModel([answer]) });
  const chat = new Conversation(shop, { generator });
  expect(await chat.send({ text: 'a pizza, please' })).toEqual([expected]);
});
