import { expect, test } from 'vitest';
import type { Command } from '../conversation.ts';
import {
  cancel,
  chitchat,
  clarify,
  Conversation,
  repeat,
  search,
  set,
  skip,
  start,
} from '../testing/conversation.ts';
import { project } from '../testing/project.ts';

/** A kiosk in which the pattern says one thing of its own. */
function kiosk(pattern: string): Conversation {
  return new Conversation(
    project({
      domain: `
slots:
  colour:
    type: text
    validation:
      rejections: [{if: slots.colour = "grey", utter: utter_no}]
  size: {type: text}
responses:
  utter_ask_colour: [{text: "Which colour?"}]
  utter_ask_size: [{text: "Which size?"}]
  utter_no: [{text: "No."}]
  utter_own: [{text: "Mine."}]
`,
      flows: `
flows:
  buy: {description: Buy., steps: [{collect: colour}, {collect: size}]}
  look: {description: Look., steps: [{action: utter_no}]}
  broken: {description: Break., steps: [{action: action_missing}]}
  ${pattern}: {description: Our own., steps: [{action: utter_own}]}
`,
    }),
  );
}

const one = (command: Command): readonly Command[][] => [[command]];
const buying = [start('buy'), set('colour', 'red')];

/** Messages after which the pattern has its say. */
const turns: readonly (readonly [pattern: string, turns: readonly (readonly Command[])[]])[] = [
  ['pattern_cancel_flow', [buying, [cancel]]],
  ['pattern_cannot_handle', one({ command: 'cannot handle', reason: 'x' })],
  ['pattern_chitchat', one(chitchat)],
  ['pattern_clarification', one(clarify('buy', 'look'))],
  ['pattern_code_change', one({ command: 'code change' })],
  ['pattern_collect_information', one(start('buy'))],
  ['pattern_completed', one(start('look'))],
  ['pattern_continue_interrupted', [buying, [start('look')]]],
  ['pattern_correction', [buying, [set('colour', 'blue')]]],
  ['pattern_customer_satisfaction', [[start('look')], [set('continue_conversation', false)]]],
  ['pattern_human_handoff', one({ command: 'human handoff' })],
  ['pattern_internal_error', one(start('broken'))],
  ['pattern_repeat_bot_messages', one(repeat)],
  ['pattern_restart', one({ command: 'restart' })],
  ['pattern_search', one(search)],
  ['pattern_session_start', one({ command: 'session start' })],
  ['pattern_skip_question', [buying, [skip]]],
  ['pattern_user_silence', one({ command: 'user silence' })],
  ['pattern_validate_slot', [[start('buy')], [set('colour', 'grey')]]],
];

test.each(turns)('a project says in its own words what %s says', async (pattern, messages) => {
  const chat = kiosk(pattern);
  let said: readonly string[] = [];
  for (const commands of messages) said = await chat.say('something', ...commands);
  expect(said).toContain('Mine.');
});

test('a question that cannot be skipped says so, and is asked again', async () => {
  const chat = kiosk('pattern_chitchat');
  await chat.say('a red one', ...buying);
  expect(await chat.say('skip it', skip)).toEqual(['I need an answer to continue.', 'Which size?']);
});
