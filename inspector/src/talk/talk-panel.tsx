import { signal } from '@preact/signals';
import { about } from '../api/about.ts';
import { AssistantPanel, type AssistantTab, assistantTabs } from '../assistant/assistant-panel.tsx';
import { CardView } from '../peers/card-view.tsx';
import { Empty } from '../ui/notice.tsx';
import { type Tab, Tabs } from '../ui/tabs.tsx';
import { JudgedExchange } from '../wire/judged-exchange.ts';
import { WireView } from '../wire/wire-view.tsx';
import type { TalkConversation } from './talk-conversation.ts';

type PanelTab = AssistantTab | 'wire' | 'agent';
const chosen = signal<PanelTab>('flow');

/** Details of a conversation: the assistant's state if it is one of ours, the wire, the card. */
export function TalkPanel({ talk }: { readonly talk: TalkConversation }) {
  const { own } = talk.target.value;
  const agent = about.value?.agents.find(({ name }) => name === own);
  const isAssistant = agent?.isAssistant === true;
  // Subscribes to the wire log, so that the count stays current.
  const exchanges = talk.wire.version.value >= 0 ? talk.wire.exchanges : [];
  const judged = exchanges.map((exchange) => {
    const one = JudgedExchange.of(exchange);
    one.look(exchange);
    return one;
  });
  const faults = judged.reduce((sum, one) => sum + one.count, 0);
  if (judged.some(({ isBehind }) => isBehind)) talk.wire.changed();
  const tabs: readonly Tab<PanelTab>[] = [
    ...(isAssistant ? assistantTabs : []),
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
              <p class="soft">Choose an agent to talk to.</p>
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
