import { useEffect, useState } from 'preact/hooks';
import type {
  ConversationView,
  FlowView,
  LiveNotice,
  OwnerView,
} from '../../../src/http/inspector/model.ts';
import type { JsonValue } from '../../../src/protocol/index.ts';
import { path, post } from '../api/api.ts';
import { watchContext } from '../api/live.ts';
import { useLive } from '../api/resource.ts';
import { Stops } from '../app/stops.tsx';
import { Button } from '../ui/button.tsx';
import { lazy } from '../ui/lazy.tsx';
import { Problem } from '../ui/notice.tsx';
import type { Tab } from '../ui/tabs.tsx';
import { type ConversationTurn, conversationTurns } from './conversation-turns.ts';
import { e2eTest } from './e2e-test.ts';
import { SlotsTab } from './slots-tab.tsx';
import { TurnTab } from './turn-tab.tsx';

export type AssistantTab = 'flow' | 'slots' | 'turn' | 'tests';

export const assistantTabs: readonly Tab<AssistantTab>[] = [
  { name: 'flow', title: 'Flow' },
  { name: 'slots', title: 'Slots' },
  { name: 'turn', title: 'Turn' },
  { name: 'tests', title: 'Tests' },
];

const TestsTab = lazy(async () => (await import('./tests-tab.tsx')).TestsTab);
/** Loaded on demand: the layout engine of diagrams is a fifth of the page. */
const FlowTab = lazy(async () => (await import('./flow-tab.tsx')).FlowTab);

const noFlows: readonly FlowView[] = [];

interface AssistantPanelProps {
  readonly assistant: string;
  readonly contextId: string | undefined;
  /** The owner of a stored conversation. */
  readonly owner: OwnerView | undefined;
  readonly tab: AssistantTab;
}

/** The state of an assistant in one conversation, at any of its turns. */
export function AssistantPanel({ assistant, contextId, owner, tab }: AssistantPanelProps) {
  useEffect(() => {
    if (contextId !== undefined) watchContext(contextId, owner?.key);
  }, [contextId, owner?.key]);
  const isRelevant = ({ tasks = [], context }: LiveNotice): boolean =>
    contextId !== undefined &&
    (context === contextId || tasks.some((task) => task.contextId === contextId));
  const query = owner === undefined ? '' : path`?tenant=${owner.tenant}&subject=${owner.subject}`;
  const { value, problem, reload } = useLive<ConversationView>(
    contextId && path`assistants/${assistant}/conversations/${contextId}` + query,
    isRelevant,
  );
  // Reloaded, too: the server can have a new model.
  const flows = useLive<readonly FlowView[]>(path`assistants/${assistant}/flows`, isRelevant);
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const turns = value === undefined ? [] : conversationTurns(value.tracker);
  const at = Math.min(chosen ?? Infinity, turns.length - 1);
  const hasMessages = turns.some(({ number }) => number > 0);
  const first = turns.find(({ number }) => number === 1)?.text ?? 'conversation';
  const save = (): void => {
    const name = first
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '_')
      .replaceAll(/^_|_$/g, '');
    download(`${name || 'conversation'}.yml`, e2eTest(first, turns), 'application/yaml');
  };
  const exportTracker = (): void => {
    const json = JSON.stringify(value?.tracker, undefined, 2);
    download(`${contextId ?? 'conversation'}.json`, `${json}\n`, 'application/json');
  };
  const setSlot = async (name: string, slotValue: JsonValue): Promise<void> => {
    const ownerQuery = owner === undefined ? '' : path`?owner=${owner.key}`;
    await post(path`conversations/${contextId ?? ''}/slots` + ownerQuery, {
      name,
      value: slotValue,
    });
    reload();
  };
  return (
    <div class="assistant-panel">
      <Problem text={problem} />
      <div class="travel-bar">
        <Stops noun="turn" stops={turns.map(stopOf)} at={at} onChange={setChosen} />
        <div class="tools">
          <Button icon="download" label="Save as test" disabled={!hasMessages} onClick={save}>
            Save as test
          </Button>
          <Button
            icon="braces"
            label="Export tracker JSON"
            disabled={value === undefined || !hasMessages}
            onClick={exportTracker}
          />
        </div>
      </div>
      {tab === 'flow' && <FlowTab flows={flows.value ?? noFlows} turns={turns} at={at} />}
      {tab === 'slots' && (
        <SlotsTab
          turns={turns}
          at={at}
          {...(at === turns.length - 1 && hasMessages && { onSet: setSlot })}
        />
      )}
      {tab === 'turn' && <TurnTab turn={turns[at]} />}
      {tab === 'tests' && <TestsTab assistant={assistant} turns={turns} />}
    </div>
  );
}

function stopOf({ number, text }: ConversationTurn, _: number, all: readonly ConversationTurn[]) {
  const title = number === 0 ? 'Session start' : `Turn ${number} of ${all.at(-1)?.number ?? 0}`;
  return { title, text };
}

/** Offers a text as a file download. */
function download(filename: string, text: string, mediaType: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: mediaType }));
  const link = document.createElement('a');
  link.href = url;
  link.download = filename;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
