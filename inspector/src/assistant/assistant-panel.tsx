import { useEffect, useState } from 'preact/hooks';
import type { ConversationView } from '../../../src/http/inspector/model.ts';
import { path } from '../api/api.ts';
import { watchContext } from '../api/live.ts';
import { type Loaded, useLive } from '../api/loaded.ts';
import { download } from '../ui/download.ts';
import { Button } from '../ui/button.tsx';
import { Problem } from '../ui/notice.tsx';
import type { Tab } from '../ui/tabs.tsx';
import { conversationTurns } from './conversation-turns.ts';
import { e2eTest } from './e2e-test.ts';
import { FlowTab } from './flow-tab.tsx';
import { flowsOf } from './flows.ts';
import { SlotsTab } from './slots-tab.tsx';
import { TimeTravel } from './time-travel.tsx';
import { TurnTab } from './turn-tab.tsx';

export type AssistantTab = 'flow' | 'slots' | 'turn';

export const assistantTabs: readonly Tab<AssistantTab>[] = [
  { name: 'flow', title: 'Flow' },
  { name: 'slots', title: 'Slots' },
  { name: 'turn', title: 'Turn' },
];

interface AssistantPanelProps {
  readonly assistant: string;
  readonly contextId: string | undefined;
  readonly subject?: string;
  readonly tab: AssistantTab;
}

/** The state of an assistant in one conversation, at any of its turns. */
export function AssistantPanel({ assistant, contextId, subject, tab }: AssistantPanelProps) {
  const { value, problem } = useTracker(assistant, contextId, subject);
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const turns = value === undefined ? [] : conversationTurns(value.tracker);
  const at = Math.min(chosen ?? Infinity, turns.length - 1);
  const save = (): void => {
    const first = turns.find(({ number }) => number === 1)?.text ?? 'conversation';
    const name = first
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '_')
      .replaceAll(/^_|_$/g, '');
    download(`${name || 'conversation'}.yml`, e2eTest(first, turns), 'application/yaml');
  };
  return (
    <div class="assistant-panel">
      <Problem text={problem} />
      <div class="travel-bar">
        <TimeTravel turns={turns} at={at} onChange={setChosen} />
        <Button icon="download" disabled={!turns.some(({ number }) => number > 0)} onClick={save}>
          Save as test
        </Button>
      </div>
      {tab === 'flow' && <FlowTab flows={flowsOf(assistant)} turns={turns} at={at} />}
      {tab === 'slots' && <SlotsTab turns={turns} at={at} />}
      {tab === 'turn' && <TurnTab turn={turns[at]} />}
    </div>
  );
}

/** The tracker of a conversation, reloaded after every change. */
function useTracker(
  assistant: string,
  contextId: string | undefined,
  subject = '',
): Loaded<ConversationView> {
  const query = subject === '' ? '' : `?subject=${encodeURIComponent(subject)}`;
  useEffect(() => (contextId === undefined ? undefined : watchContext(contextId)), [contextId]);
  return useLive<ConversationView>(
    contextId && path`assistants/${assistant}/conversations/${contextId}` + query,
    ({ tasks = [], contexts = [] }) =>
      contexts.some((id) => id === contextId) || tasks.some((task) => task.contextId === contextId),
  );
}
