import { Badge } from '../ui/badge.tsx';
import { Copy } from '../ui/button.tsx';
import type { Candidate } from './conversation-turns.ts';

/** The flows that a message was compared with: why the first won, why the others lost, and what changes it. */
export function Candidates({
  text,
  candidates,
}: {
  readonly text: string;
  readonly candidates: readonly Candidate[];
}) {
  if (candidates.length === 0) return null;
  return (
    <section>
      <h3>Candidates</h3>
      <ul class="commands">
        {candidates.map(({ flow, score, confidence, phrase, words, outcome, why }) => (
          <li key={flow}>
            <Badge tone={outcome === 'not started' ? 'neutral' : 'accent'}>{flow}</Badge>{' '}
            <code>
              score {score}, confidence {confidence}
            </code>{' '}
            {outcome}. {why}{' '}
            <span class="faint">
              {words.join(', ')} · nearest phrase: {phrase}
            </span>
          </li>
        ))}
      </ul>
      <p class="faint">
        To start another flow with this message, add it to the examples of that flow:{' '}
        <code>- {text}</code> <Copy text={`- ${text}`} label="Copy the example" />
      </p>
    </section>
  );
}
