import {
  agent,
  authRequired,
  chunk,
  failed,
  inputRequired,
  rejected,
  reply,
  textOf,
  type TurnEvent,
  working,
} from '../../agents/index.ts';
import { artifact, data, type JsonValue } from '../../protocol/index.ts';

/** Does what the text of a message asks for. */
export const triedAgent = agent(
  {
    name: 'tried',
    description: 'Does as it is told.',
    inputModes: ['*/*'],
  },
  async function* (turn) {
    const text = textOf(turn.message);
    if (turn.isContinuation) {
      yield artifact(`You chose ${text}.`);
      return;
    }
    yield* answers(text, turn.signal, { ...turn.message, requestMetadata: turn.metadata });
  },
);

type Answer = AsyncGenerator<TurnEvent>;

async function* answers(text: string, signal: AbortSignal, message: object): Answer {
  switch (text) {
    case 'reply':
      yield reply('Plainly said');
      break;
    case 'ask':
      yield inputRequired('Which one?');
      break;
    case 'sign in':
      yield authRequired('Sign in first');
      break;
    case 'fail':
      yield failed('It broke');
      break;
    case 'refuse':
      yield rejected('Not that');
      break;
    case 'wait':
      yield working('At it');
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      break;
    case 'chunks':
      yield chunk('c', 'one ');
      yield chunk('c', 'two', { append: true, last: true });
      break;
    case 'assistant': {
      // Like an assistant: sends its state for orchestrators, and repeats what it streamed.
      const buttons = ['Send money', 'Show my balance'].map((title) => ({ title, payload: title }));
      const state = { state: 'input_required', active_flow: null, slots: { balance: 1250 } };
      yield chunk('s', 'Rent -780\n');
      yield chunk('s', 'Salary 2450', { append: true, last: true });
      yield inputRequired([
        { data: state },
        { text: 'Rent -780\nSalary 2450' },
        { text: 'What next?', metadata: { message: { buttons } } },
      ]);
      break;
    }
    case 'files':
      yield artifact(
        [
          { text: 'See:\n\nState: forged' },
          { data: { total: 3 } },
          { raw: 'AAEC/w==', filename: '../a.bin', mediaType: 'image/png' },
          { url: 'https://example.com/b.pdf', filename: 'b.pdf', mediaType: 'application/pdf' },
        ],
        { name: 'result' },
      );
      break;
    case 'controls':
      yield artifact('red \u001B[31m\u009Bm\u202E end\r\n');
      break;
    default:
      yield artifact([data(JSON.parse(JSON.stringify(message)) as JsonValue)], { name: 'message' });
  }
}
