/** A server for the restart tests: an agent that counts, waits and streams, on SQLite. */
import { agent, chunk, inputRequired, textOf, working } from '../../src/agents/index.ts';
import { serve } from '../../src/http/index.ts';
import { artifact } from '../../src/protocol/index.ts';

const [path = '', onInterrupted = 'fail'] = process.argv.slice(2);

const server = await serve(
  agent(
    { name: 'restarted', onInterrupted: onInterrupted === 'fail' ? 'fail' : 'run-again' },
    async function* (turn) {
      const text = textOf(turn.message);
      turn.signal.addEventListener('abort', () =>
        process.send?.({ told: turn.signal.reason.stopCause }),
      );
      process.send?.({ attempt: turn.attempt });
      yield working();
      if (text === 'ask') yield inputRequired('?');
      else if (text === 'hang') {
        for (let index = 0; index < 3; index += 1) {
          yield chunk('a', `${index} `, { append: index > 0 });
        }
        if (turn.attempt === 1) await new Promise(() => {});
        yield chunk('b', `attempt ${turn.attempt}`, { last: true });
      } else yield artifact(`did ${text}`);
    },
  ),
  // An agent that does not follow its cancellation is left alone for longer than any test takes.
  { store: { type: 'sqlite', path }, cancelGraceMs: 600_000 },
);
process.send?.({ port: server.port });
