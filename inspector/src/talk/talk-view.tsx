import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { ownAgent } from '../api/about.ts';
import { onKey } from '../app/shortcuts.tsx';
import { AssistantPanel, type AssistantTab, assistantTabs } from '../assistant/assistant-panel.tsx';
import { CardView } from '../peers/card-view.tsx';
import { Button } from '../ui/button.tsx';
import { Empty } from '../ui/notice.tsx';
import { isWide, Split } from '../ui/split.tsx';
import { type Tab, Tabs } from '../ui/tabs.tsx';
import { WireView } from '../wire/wire-view.tsx';
import { TalkColumn } from './talk-column.tsx';
import { currentNumber, startTalk, type TalkConversation, talks } from './talk-conversation.ts';

const isPanelOpen = signal(isWide.peek());

/** Conversations side by side, and the details of the selected one. */
export function TalkView() {
  useEffect(() => {
    if (talks.peek().length === 0) startTalk();
    return onKey('n', () => void startTalk());
  }, []);
  const talk = talks.value.find(({ number }) => number === currentNumber.value) ?? talks.value[0];
  const columns = (
    <div class="talk-columns">
      {talks.value.map((one) => (
        <TalkColumn key={one.number} talk={one} isOnly={talks.value.length === 1} />
      ))}
    </div>
  );
  const panel = talk === undefined ? null : <TalkPanel key={talk.number} talk={talk} />;
  const isOpen = isPanelOpen.value;
  return (
    <div class="talk-view">
      <div class="view-bar">
        <h1>Talk</h1>
        <div class="tools">
          <Button icon="plus" onClick={() => void startTalk()}>
            New conversation
          </Button>
          <Button
            icon="panel"
            pressed={isOpen}
            onClick={() => {
              isPanelOpen.value = !isOpen;
            }}
          >
            Inspect
          </Button>
        </div>
      </div>
      {isOpen && isWide.value ? (
        <Split label="Conversations and details" share={44}>
          {[columns, panel]}
        </Split>
      ) : (
        <div class="talk-single">{isOpen ? panel : columns}</div>
      )}
    </div>
  );
}

type PanelTab = AssistantTab | 'wire' | 'agent';
const chosen = signal<PanelTab>('flow');

/** Details of a conversation: the assistant's state if it is one of ours, the wire, the card. */
function TalkPanel({ talk }: { readonly talk: TalkConversation }) {
  const { own } = talk.target.value;
  const agent = own === undefined ? undefined : ownAgent(own);
  const faults = talk.wire.current().exchanges.reduce((sum, one) => sum + one.faults, 0);
  const tabs: readonly Tab<PanelTab>[] = [
    ...(agent?.isAssistant === true ? assistantTabs : []),
    { name: 'wire', title: 'Wire', count: faults },
    { name: 'agent', title: 'Agent' },
  ];
  const tab = tabs.some(({ name }) => name === chosen.value) ? chosen.value : 'wire';
  const card = agent?.card ?? talk.card.value;
  return (
    <aside class="panel" aria-label="Inspect">
      <Tabs
        label="Inspect"
        tabs={tabs}
        current={tab}
        onChange={(name) => {
          chosen.value = name;
        }}
      >
        {tab === 'wire' && <WireView log={talk.wire} />}
        {tab === 'agent' &&
          (card === undefined ? (
            <Empty icon="peers" title="No card yet">
              <p class="soft">Choose an agent first.</p>
            </Empty>
          ) : (
            <CardView json={card} />
          ))}
        {own !== undefined && tab !== 'wire' && tab !== 'agent' && (
          <AssistantPanel assistant={own} contextId={talk.contextId.value} tab={tab} />
        )}
      </Tabs>
    </aside>
  );
}
