import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { onKey } from '../app/shortcuts.ts';
import { Button } from '../ui/button.tsx';
import { isWide } from '../ui/screen.ts';
import { Split } from '../ui/split.tsx';
import { TalkColumn } from './talk-column.tsx';
import { TalkPanel } from './talk-panel.tsx';
import { begin, currentTalk, talks } from './talks.ts';

const isPanelOpen = signal(isWide.peek());

/** Conversations side by side, and the details of the selected one. */
export function TalkView() {
  useEffect(() => {
    if (talks.peek().length === 0) begin();
    return onKey('n', () => void begin());
  }, []);
  const talk = currentTalk();
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
          <Button icon="plus" onClick={() => void begin()}>
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
        <Split label="Between conversations and what is behind them" share={44}>
          {[columns, panel]}
        </Split>
      ) : (
        <div class="talk-single">{isOpen ? panel : columns}</div>
      )}
    </div>
  );
}
