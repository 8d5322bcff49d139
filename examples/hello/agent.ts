import { agent, textOf } from '../../src/agents/index.ts';
import { artifact } from '../../src/protocol/index.ts';

/** The smallest agent: one function, one answer. */
export const greeter = agent({ name: 'greeter' }, async function* (turn) {
  yield artifact(`Hello, ${textOf(turn.message)}!`);
});
