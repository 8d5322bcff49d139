import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { textOf } from '../../../src/protocol/index.ts';
import { about } from '../api/about.ts';
import { onKey } from '../app/shortcuts.tsx';
import { Button } from '../ui/button.tsx';
import { isWide, Split } from '../ui/split.tsx';
import { ConversationList } from './conversation-list.tsx';
import { TalkColumn, talkName } from './talk-column.tsx';
import type { TalkConversation } from './talk-conversation.ts';
import { TalkPanel } from './talk-panel.tsx';
import { currentNumber, currentTalk, startTalk, talks } from './talks.ts';

const isPanelOpen = signal(isWide.peek());
/** Minimum width of the window for the list beside conversations and details, in pixels. */
const listWidth = 1400;
const isListOpen = signal(innerWidth >= listWidth);

/** The stored conversations, the open ones side by side, and the details of the selected one. */
export function TalkView() {
  useEffect(() => onKey('n', () => void startTalk()), []);
  const talk = currentTalk();
  const isOpen = isPanelOpen.value;
  const columns = <Columns />;
  const panel = talk === undefined ? null : <TalkPanel key={talk.number} talk={talk} />;
  // The server of a remote agent stores its conversations.
  const hasList = about.value?.target === undefined;
  const isTwo = talks.value.length > 1;
  return (
    <div class="talk-view">
      <div class="view-bar">
        <h1>Talk</h1>
        <div class="tools">
          {hasList && (
            <Button
              icon="list"
              pressed={isListOpen.value}
              onClick={() => {
                isListOpen.value = !isListOpen.peek();
              }}
            >
              Conversations
            </Button>
          )}
          <Button icon="plus" label="New conversation" onClick={() => void startTalk()}>
            New
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
      <div class="talk-body">
        {hasList && isListOpen.value && (
          <ConversationList
            onOpened={() => {
              if (innerWidth < listWidth) isListOpen.value = false;
              if (!isWide.peek()) isPanelOpen.value = false;
            }}
          />
        )}
        {isOpen && isWide.value ? (
          <Split
            key={isTwo ? 'two' : 'one'}
            label="Conversations and details"
            share={isTwo ? 60 : 44}
          >
            {[columns, panel]}
          </Split>
        ) : (
          <div class="talk-single">{isOpen ? panel : columns}</div>
        )}
      </div>
    </div>
  );
}

/** Minimum width of a conversation, in rem. */
const columnWidth = 17;

/** As many conversations side by side as fit; the others are opened by tabs. */
function Columns() {
  const box = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(1);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
      setRoom(Math.max(1, Math.floor(element.clientWidth / (columnWidth * rem))));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const all = talks.value;
  const selected = all.findIndex(({ number }) => number === currentNumber.value);
  const first = useRef(0);
  first.current = firstShown(first.current, Math.max(0, selected), room, all.length);
  const shown = all.slice(first.current, first.current + room);
  return (
    <div class="talk-area" ref={box}>
      {shown.length < all.length && (
        <div class="talk-tabs" role="group" aria-label="Open conversations">
          {all.map((one) => (
            <TalkTab key={one.number} talk={one} />
          ))}
        </div>
      )}
      <div class="talk-columns">
        {shown.map((one) => (
          <TalkColumn key={one.number} talk={one} isOnly={all.length === 1} />
        ))}
      </div>
    </div>
  );
}

/** Opens a conversation. Labelled with its number and first message, or the name of its agent. */
function TalkTab({ talk }: { readonly talk: TalkConversation }) {
  const [first] = talk.current().turns;
  const said = first === undefined ? '' : (first.shown ?? textOf(first.message));
  return (
    <button
      type="button"
      class="talk-tab"
      aria-pressed={talk === currentTalk()}
      onClick={() => {
        currentNumber.value = talk.number;
      }}
    >
      {talk.number}. {said || talkName(talk)}
    </button>
  );
}

/**
 * The first of the visible conversations. It changes only if the selected one would be out of view: a
 * column that moved during a click would lose the click.
 */
function firstShown(before: number, selected: number, room: number, count: number): number {
  const inSight = Math.min(Math.max(before, selected - room + 1), selected);
  return Math.max(0, Math.min(inSight, count - room));
}
