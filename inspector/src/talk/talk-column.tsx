import { useState } from 'preact/hooks';
import type { AgentSkill } from '../../../src/protocol/index.ts';
import { Button, Copy } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { Empty, Problem } from '../ui/notice.tsx';

import { Composer } from './composer.tsx';
import { useFollowing } from './following.ts';
import type { Choice, FormAnswer } from './input-request.ts';
import { currentNumber, endTalk, type TalkConversation } from './talk-conversation.ts';
import { TargetDialog } from './target-dialog.tsx';
import type { TalkTurn } from './turn.ts';
import { TurnView } from './turn-view.tsx';

interface TalkColumnProps {
  readonly talk: TalkConversation;
  readonly isOnly: boolean;
}

/** One conversation: its agent, its messages, and the editor. */
export function TalkColumn({ talk, isOnly }: TalkColumnProps) {
  const [isOpen, setOpen] = useState(
    talk.target.peek().own === undefined && talk.target.peek().url === '',
  );
  const isCurrent = currentNumber.value === talk.number;
  const choose = (): void => {
    currentNumber.value = talk.number;
  };
  return (
    <section
      class={isCurrent && !isOnly ? 'talk current' : 'talk'}
      aria-label={`Conversation ${talk.number}`}
      onFocusIn={choose}
      onPointerDown={choose}
    >
      <TalkHead talk={talk} isOnly={isOnly} onSettings={() => setOpen(true)} />
      <Problem text={talk.problem.value} />
      <TalkLog talk={talk} onSettings={() => setOpen(true)} />
      <Composer talk={talk} />
      {isOpen && <TargetDialog talk={talk} onClose={() => setOpen(false)} />}
    </section>
  );
}

interface TalkHeadProps extends TalkColumnProps {
  readonly onSettings: () => void;
}

function TalkHead({ talk, isOnly, onSettings }: TalkHeadProps) {
  const { own, url } = talk.target.value;
  const name = talk.card.value?.name ?? own ?? (url === '' ? 'No agent' : url);
  const contextId = talk.contextId.value;
  const hasTurns = talk.current().turns.length > 0;
  return (
    <header class="talk-head">
      <div class="talk-who">
        <h2>
          <button
            type="button"
            class="talk-name"
            aria-label={`Agent: ${name}`}
            title="Agent"
            onClick={onSettings}
          >
            <span>{name}</span>
            <Icon name="down" />
          </button>
        </h2>
        <p class="faint">
          <span>{talk.interfaceInUse.value || 'not connected'}</span>
          {contextId !== undefined && (
            <span class="talk-context">
              <code title={contextId}>{contextId}</code>
              <Copy text={contextId} label="Copy the context id" />
            </span>
          )}
        </p>
      </div>
      <div class="tools">
        <Button
          kind="quiet"
          icon="follow"
          label="Subscribe to the task again"
          disabled={!hasTurns || talk.isBusy.value}
          onClick={() => void talk.resubscribe()}
        />
        <Button
          kind="quiet"
          icon="replay"
          label="New session"
          disabled={!hasTurns}
          onClick={() => talk.restart()}
        />
        {!isOnly && (
          <Button
            kind="quiet"
            icon="close"
            label="End this conversation"
            onClick={() => endTalk(talk)}
          />
        )}
      </div>
    </header>
  );
}

/** Suggestions for a first message: one per skill, because examples of one skill are alike. */
function examplesOf(skills: readonly AgentSkill[]): readonly string[] {
  const firsts = skills.flatMap(({ examples = [] }) => examples.slice(0, 1));
  const others = skills.flatMap(({ examples = [] }) => examples.slice(1));
  return [...new Set([...firsts, ...others])].slice(0, 4);
}

/** Maximum number of rendered turns; earlier ones are shown on demand. */
const shownAtOnce = 40;

function TalkLog({ talk, onSettings }: Pick<TalkHeadProps, 'talk' | 'onSettings'>) {
  const [more, setMore] = useState(0);
  const version = talk.version.value;
  const { turns } = talk;
  const { box, content, hasNew, toEnd, onScroll } = useFollowing(version, turns.length);
  const first = Math.max(0, turns.length - shownAtOnce - more);
  const welcome = welcomeOf(talk);
  const isBusy = talk.isBusy.value;
  const shared = {
    isOwn: talk.target.value.own !== undefined,
    onChoose: ({ title, payload }: Choice) =>
      void talk.say({ parts: [{ text: payload }], shown: title }),
    onAnswer: (answer: FormAnswer) => void talk.say({ parts: [{ data: answer }] }),
  };
  return (
    <div class="talk-stage">
      <div
        class="talk-log"
        role="log"
        aria-label="Messages"
        tabIndex={0}
        ref={box}
        onScroll={onScroll}
      >
        <div class="talk-turns" ref={content}>
          {welcome !== undefined && first === 0 && (
            <TurnView {...shared} turn={welcome} canAnswer={turns.length === 0 && !isBusy} />
          )}
          {turns.length === 0 && welcome === undefined && (
            <FirstMessage talk={talk} onSettings={onSettings} />
          )}
          {first > 0 && (
            <Button kind="quiet" onClick={() => setMore(more + shownAtOnce)}>
              Show {Math.min(first, shownAtOnce)} earlier turns
            </Button>
          )}
          {turns.slice(first).map((turn, index) => (
            <TurnView
              key={turn.number}
              {...shared}
              turn={turn}
              canAnswer={first + index === turns.length - 1 && !isBusy}
            />
          ))}
        </div>
      </div>
      {hasNew && (
        <button type="button" class="talk-new" onClick={toEnd}>
          <Icon name="down" />
          New messages
        </button>
      )}
    </div>
  );
}

/** Also undefined for an assistant that starts its session without a message. */
function welcomeOf({ welcome: { value: welcome } }: TalkConversation): TalkTurn | undefined {
  if (welcome === undefined || welcome.isOpen || welcome.problem !== '') return welcome;
  const parts = welcome.outputs.flatMap((output) => output.parts);
  return parts.some(({ data }) => data === undefined) ? welcome : undefined;
}

/** Shown before the first message to an agent that sends no welcome. */
function FirstMessage({ talk, onSettings }: Pick<TalkHeadProps, 'talk' | 'onSettings'>) {
  return (
    <Empty icon="talk" title="Send a message">
      <p class="soft">{talk.card.value?.description}</p>
      <div class="choices">
        {examplesOf(talk.card.value?.skills ?? []).map((example) => (
          <button
            key={example}
            type="button"
            class="choice"
            onClick={() => void talk.say({ parts: [{ text: example }] })}
          >
            {example}
          </button>
        ))}
      </div>
      <Button kind="quiet" icon="peers" onClick={onSettings}>
        Talk to another agent
      </Button>
    </Empty>
  );
}
