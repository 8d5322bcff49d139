import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { textOf } from '../../../src/protocol/index.ts';
import { ownAgent } from '../api/about.ts';
import { Stops } from '../app/stops.tsx';
import { AssistantPanel, type AssistantTab, assistantTabs } from '../assistant/assistant-panel.tsx';
import { lazy } from '../ui/lazy.tsx';
import { Empty } from '../ui/notice.tsx';
import { type Tab, Tabs } from '../ui/tabs.tsx';
import { WireView } from '../wire/wire-view.tsx';
import type { TalkConversation } from './talk-conversation.ts';
import type { TalkTurn } from './turn.ts';

const CardView = lazy(async () => (await import('../peers/card-view.tsx')).CardView);

const StepsTab = lazy(async () => (await import('../steps/steps-tab.tsx')).StepsTab);

type PanelTab = AssistantTab | 'steps' | 'wire' | 'agent';
const chosen = signal<PanelTab>('flow');

/** Details of a conversation: the state of the server's own assistant, the wire, the card. */
export function TalkPanel({ talk }: { readonly talk: TalkConversation }) {
  const { own } = talk.target.value;
  const agent = own === undefined ? undefined : ownAgent(own);
  const faults = talk.wire.current().exchanges.reduce((sum, one) => sum + one.faults, 0);
  const tabs: readonly Tab<PanelTab>[] = [
    ...(agent?.isAssistant === true ? assistantTabs : []),
    ...(agent?.isAssistant === false ? [{ name: 'steps', title: 'Steps' } as const] : []),
    { name: 'wire', title: 'Wire', count: faults },
    { name: 'agent', title: 'Agent' },
  ];
  const tab = tabs.some(({ name }) => name === chosen.value) ? chosen.value : 'wire';
  const card = agent?.card ?? talk.card.value;
  return (
    <aside class="panel" aria-label="Inspect">
      {/* Headings in the tabs are below it. On narrow screens no conversation is shown above them. */}
      <h2 class="hidden-label">Details of the conversation</h2>
      <Tabs
        label="Inspect"
        tabs={tabs}
        current={tab}
        onChange={(name) => {
          chosen.value = name;
        }}
      >
        {tab === 'wire' && <WireView log={talk.wire} />}
        {tab === 'steps' && <TalkSteps talk={talk} />}
        {tab === 'agent' &&
          (card === undefined ? (
            <Empty icon="peers" title="No card yet">
              <p class="soft">Choose an agent first.</p>
            </Empty>
          ) : (
            <CardView json={card} />
          ))}
        {own !== undefined && tab !== 'wire' && tab !== 'agent' && tab !== 'steps' && (
          <AssistantPanel
            assistant={own}
            contextId={talk.contextId.value}
            owner={talk.owner.value}
            tab={tab}
          />
        )}
      </Tabs>
    </aside>
  );
}

/** The steps of a task of a conversation: the latest, until the user selects another. */
function TalkSteps({ talk }: { readonly talk: TalkConversation }) {
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const firsts = firstsOfTasks(talk.current().turns);
  const last = firsts.length - 1;
  const at = Math.min(chosen ?? Infinity, last);
  const isLatest = at === last;
  const canAnswer = isLatest && talk.otherOwner.value === undefined && !talk.isBusy.value;
  const answer = (text: string): void => {
    const shown = text.startsWith('yes') ? 'Approve' : 'Deny';
    void talk.say({ parts: [{ text }], shown });
  };
  const stops = firsts.map((turn, index) => ({
    title: `Task ${index + 1} of ${firsts.length}`,
    text: turn.shown ?? textOf(turn.message),
  }));
  return (
    <>
      {stops.length > 1 && (
        <div class="travel-bar">
          <Stops noun="task" stops={stops} at={at} onChange={setChosen} />
        </div>
      )}
      <StepsTab taskId={firsts[at]?.taskId} onAnswer={canAnswer ? answer : undefined} />
    </>
  );
}

/** The first turn of each task. */
function firstsOfTasks(turns: readonly TalkTurn[]): readonly TalkTurn[] {
  const firsts = new Map<string, TalkTurn>();
  for (const turn of turns) {
    if (turn.taskId !== undefined && !firsts.has(turn.taskId)) firsts.set(turn.taskId, turn);
  }
  return [...firsts.values()];
}
