import { agent, inputRequired, textOf, working } from '../../../src/agents/index.ts';
import { artifact } from '../../../src/protocol/index.ts';

/** Asks back, holds on, or says what it heard; counts the turns of its conversation. */
export const actor = agent({ name: 'actor', skills: ['act'] }, async function* (turn) {
  const text = textOf(turn.message);
  const state = (await turn.state.load()) as { turns?: number } | undefined;
  const turns = (state?.turns ?? 0) + 1;
  yield working();
  if (text === 'hold') {
    await new Promise((resolve) => turn.signal.addEventListener('abort', resolve));
    return;
  }
  if (text === 'ask') yield { ...inputRequired('what?'), context: { value: { turns } } };
  else {
    yield artifact(`heard ${text}, turn ${turns}`);
    yield { kind: 'completed', context: { value: { turns } } };
  }
});
