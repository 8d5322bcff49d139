import type { SubAgentView } from '../../../src/http/inspector/model.ts';
import { goTo } from '../app/route.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { lookUp } from './known-agents.ts';

const kinds: Readonly<Record<SubAgentView['kind'], string>> = {
  A2A: 'another agent',
  code: 'in code',
  model: 'by a model',
};

const words: Readonly<Record<SubAgentView['kind'], string>> = {
  A2A: 'Its card is fetched when the assistant calls it.',
  code: 'A module of the project: it has no card and no address of its own.',
  model: 'A model with tools: it has no card and no address of its own.',
};

/** A sub agent of an assistant without a card. */
export function SubAgentDetail({ subAgent }: { readonly subAgent: SubAgentView }) {
  const { name, description, kind, address } = subAgent;
  const fetchCard = (url: string): void => {
    void lookUp(url).then(() => goTo({ view: 'peers', id: url }));
  };
  return (
    <header class="card-head">
      <h2>{name}</h2>
      <p class="soft">{description}</p>
      <p class="badges">
        <Badge tone="info">sub agent</Badge>
        <Badge>{kinds[kind]}</Badge>
      </p>
      <p class="faint">{words[kind]} What it does in a conversation is under Slots and Turn.</p>
      {address !== undefined && (
        <p>
          <Button icon="search" onClick={() => fetchCard(address)}>
            Fetch its card
          </Button>
        </p>
      )}
    </header>
  );
}
