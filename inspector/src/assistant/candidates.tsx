import { Badge } from '../ui/badge.tsx';
import { Copy } from '../ui/button.tsx';
import type { Candidate } from './conversation-turns.ts';

/** The flows that a message was compared with: their outcomes, the reasons, and how to change them. */
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
      <ul class="candidates">
        {candidates.map((candidate) => (
          <li key={candidate.flow}>
            <p class="candidate-head">
              <Badge tone={candidate.outcome === 'not started' ? 'neutral' : 'accent'}>
                {candidate.flow}
              </Badge>
              <strong>{candidate.outcome}</strong>
              <span class="faint">
                score {candidate.score} · confidence {candidate.confidence}
              </span>
            </p>
            <p>{candidate.why}</p>
            <p class="faint">{evidence(candidate)}</p>
          </li>
        ))}
      </ul>
      <p class="faint">To start another flow with this message, add it to that flow's examples:</p>
      <p class="example">
        <code>- {text}</code>
        <Copy text={`- ${text}`} label="Copy the example" />
      </p>
    </section>
  );
}

/** The words and the phrase that the message shares with the flow. */
function evidence({ words, phrase, why }: Candidate): string {
  const common = words.length === 0 ? 'No words in common' : `Words in common: ${words.join(', ')}`;
  return why.includes(`"${phrase}"`) ? common : `${common} · nearest phrase: "${phrase}"`;
}
