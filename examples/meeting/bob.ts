import { completed, failed, inputRequired, textOf } from '../../src/agents/index.ts';
import { type SkillHandler, skillAgent } from '../../src/bus/index.ts';
import { data, text } from '../../src/protocol/index.ts';

/** Bob's free times. */
const free = ['Monday 10:00', 'Tuesday 14:00', 'Wednesday 09:00', 'Thursday 16:00'];

/** Offers one time after the other until one is accepted; the task continues with each answer. */
const negotiate: SkillHandler = async function* (turn) {
  const earlier = await turn.history();
  const offers = earlier.filter(({ role }) => role === 'ROLE_AGENT').length;
  const answer = textOf(turn.message).toLowerCase();
  const accepted = free[offers - 1];
  if (offers > 0 && answer.startsWith('yes') && accepted !== undefined) {
    yield completed([text(`The meeting is on ${accepted}.`), data({ time: accepted })]);
    return;
  }
  const offer = free[offers];
  if (offer === undefined) yield failed('Bob has no other time this week.');
  else yield inputRequired([text(`How about ${offer}?`), data({ offer })]);
};

/** Bob's agent: other agents can request a meeting with Bob. */
export const bob = skillAgent(
  {
    'negotiate-meeting': {
      name: 'Meetings',
      description: 'Finds a time for a meeting with Bob',
      examples: ['Find half an hour for the budget'],
      take: negotiate,
    },
  },
  { name: 'bob', description: 'Keeps the calendar of Bob' },
);
