import { agent, completed, inputRequired, textOf, working } from '../../../src/agents/index.ts';
import { artifact, data } from '../../../src/protocol/index.ts';

/** A hotel desk on the network: asks one question and finds a room. */
export const desk = agent(
  { name: 'hotel desk', description: 'Finds a room.' },
  async function* (turn) {
    if (!turn.isContinuation) {
      yield inputRequired('One bed or two?');
      return;
    }
    yield working('I am looking for a room.');
    const beds = /two|2/.test(textOf(turn.message)) ? 2 : 1;
    yield artifact(data({ name: 'Hotel Aurora', beds }), { name: 'room' });
    yield completed(`There is a room with ${beds === 2 ? 'two beds' : 'one bed'}.`);
  },
);
