import { useState } from 'preact/hooks';
import { reasonOf } from '../api/api.ts';
import type { AgentSkill } from '../../../src/protocol/index.ts';
import { Button, Copy } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { Empty, Notice, Problem } from '../ui/notice.tsx';
import { Composer } from './composer.tsx';
import { useFollowing } from './following.ts';
import { type Choice, choicesOf, type FormAnswer } from './input-request.ts';
import { canCopy, forkAfter, rerun } from './fork.ts';
import type { TalkConversation } from './talk-conversation.ts';
import { TargetDialog } from './target-dialog.tsx';
import { currentNumber, endTalk } from './talks.ts';
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
      <TalkEnd talk={talk} />
      {isOpen && <TargetDialog talk={talk} onClose={() => setOpen(false)} />}
    </section>
  );
}

/** The editor; for another caller's conversation, a notice that it is read-only. */
function TalkEnd({ talk }: Pick<TalkColumnProps, 'talk'>) {
  const owner = talk.otherOwner.value;
  if (owner === undefined) return <Composer talk={talk} />;
  const last = talk.current().turns.at(-1);
  return (
    <div class="talk-foreign">
      <Notice tone="info">
        A conversation of {owner.subject || 'another caller'}. You can read it, not write to it.
        {canCopy(talk) && ' Fork it to continue in a copy of your own.'}
      </Notice>
      {canCopy(talk) && last !== undefined && (
        <Button icon="fork" onClick={() => act(talk, forkAfter(talk, last))}>
          Fork
        </Button>
      )}
    </div>
  );
}

/** Shows the error of a failed action in the conversation. */
function act(talk: TalkConversation, action: Promise<unknown>): void {
  talk.problem.value = '';
  action.catch((error: unknown) => {
    talk.problem.value = reasonOf(error);
  });
}

/** The name of the agent. */
export function talkName({ card, target }: TalkConversation): string {
  const { own, url } = target.value;
  return card.value?.name ?? own ?? (url === '' ? 'No agent' : url);
}

interface TalkHeadProps extends TalkColumnProps {
  readonly onSettings: () => void;
}

function TalkHead({ talk, isOnly, onSettings }: TalkHeadProps) {
  const name = talkName(talk);
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

/** Suggested messages for an agent whose card has no examples. */
const anyAgent = ['Hello', 'What can you do?', 'Give me an example'];

/**
 * Three suggestions for a first message: one per skill first, because examples of one skill are similar.
 */
function examplesOf(skills: readonly AgentSkill[]): readonly string[] {
  const firsts = skills.flatMap(({ examples = [] }) => examples.slice(0, 1));
  const others = skills.flatMap(({ examples = [] }) => examples.slice(1));
  return [...new Set([...firsts, ...others, ...anyAgent])].slice(0, 3);
}

function Suggestions({ talk }: Pick<TalkColumnProps, 'talk'>) {
  if (talk.card.value === undefined) return null;
  return (
    <div class="choices" role="group" aria-label="Suggestions">
      {examplesOf(talk.card.value.skills).map((example) => (
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
  );
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
  const canAnswer = !talk.isBusy.value && talk.otherOwner.value === undefined;
  const shared = {
    isOwn: talk.target.value.own !== undefined,
    onChoose: ({ title, payload }: Choice) =>
      void talk.say({ parts: [{ text: payload }], shown: title }),
    onAnswer: (answer: FormAnswer) => void talk.say({ parts: [{ data: answer }] }),
    forkLabel: canCopy(talk)
      ? 'Fork after this turn'
      : 'Fork after this turn: sends the messages up to here again',
    onFork: (turn: TalkTurn) => act(talk, forkAfter(talk, turn)),
    onRerun: (turn: TalkTurn, text: string) => act(talk, rerun(talk, turn, text)),
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
            <TurnView {...shared} turn={welcome} canAnswer={turns.length === 0 && canAnswer} />
          )}
          {turns.length === 0 && welcome !== undefined && !hasChoices(welcome) && (
            <Suggestions talk={talk} />
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
              canAnswer={first + index === turns.length - 1 && canAnswer}
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

function hasChoices({ isOpen, outputs }: TalkTurn): boolean {
  return isOpen || outputs.some(({ parts }) => parts.flatMap(choicesOf).length > 0);
}

/** Shown before the first message to an agent that sends no welcome. */
function FirstMessage({ talk, onSettings }: Pick<TalkHeadProps, 'talk' | 'onSettings'>) {
  return (
    <Empty icon="talk" title="Send a message">
      <p class="soft">{talk.card.value?.description}</p>
      <Suggestions talk={talk} />
      <Button kind="quiet" icon="peers" onClick={onSettings}>
        Talk to another agent
      </Button>
    </Empty>
  );
}
