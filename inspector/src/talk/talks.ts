import { effect, signal, type Signal, untracked } from '@preact/signals';
import { about, ownAgent } from '../api/about.ts';
import { onNotice } from '../api/live.ts';
import { replaceRoute, route } from '../app/route.ts';
import { type KeptTurn, keptTurns } from './kept-turn.ts';
import { TalkConversation } from './talk-conversation.ts';
import { foreignTarget, ownTarget, type Target } from './target.ts';

/** The conversations of this page, side by side. */
export const talks: Signal<readonly TalkConversation[]> = signal([]);
/** The number of the selected conversation, which the panel shows and the URL contains. */
export const currentNumber: Signal<number> = signal(0);
let count = 0;

export function currentTalk(): TalkConversation | undefined {
  return talks.value.find(({ number }) => number === currentNumber.value) ?? talks.value[0];
}

function add(target: Target): TalkConversation {
  count += 1;
  const talk = new TalkConversation(count, target);
  talks.value = [...talks.peek(), talk];
  currentNumber.value = talk.number;
  return talk;
}

/** Starts a conversation, by default with the server's own agent. */
export function startTalk(target?: Target): TalkConversation {
  const own = ownAgent();
  const usual =
    own === undefined ? foreignTarget(about.peek()?.target?.url ?? '') : ownTarget(own.name);
  const talk = add(target ?? usual);
  const { own: name, url } = talk.target.peek();
  if (name !== undefined || url !== '') void talk.connect();
  return talk;
}

/** How a stored conversation is opened. */
interface Opening {
  /** The owner key. @default the operator's, or the only owner of this id */
  readonly owner?: string | undefined;
  /** The name of the agent. @default the server's own */
  readonly agent?: string | undefined;
  /** Opens it beside the others, not in place of the selected one. @default false */
  readonly isBeside?: boolean;
}

/** Shows a stored conversation with its history. */
export function openContext(
  contextId: string,
  opening: Opening = {},
): TalkConversation | undefined {
  const known = talks
    .peek()
    .find(
      (talk) =>
        talk.contextId.peek() === contextId &&
        (opening.owner === undefined ||
          (talk.owner.peek()?.key ?? opening.owner) === opening.owner),
    );
  if (known !== undefined) {
    currentNumber.value = known.number;
    return known;
  }
  const name = opening.agent ?? ownAgent()?.name;
  if (name === undefined) return undefined;
  const current = currentTalk();
  // Conversations with remote agents exist only in this page, so they are not replaced.
  const canReplace =
    opening.isBeside !== true && current?.target.peek().own === name && !current.isBusy.peek();
  const talk = canReplace ? current : add(ownTarget(name));
  talk.restart(contextId, opening.owner);
  void talk.connect();
  return talk;
}

export function endTalk(talk: TalkConversation): void {
  talk.leave();
  talks.value = talks.peek().filter((one) => one !== talk);
  if (currentNumber.peek() === talk.number) currentNumber.value = talks.peek().at(-1)?.number ?? 0;
}

const storageKey = 'legate-inspector-talks';

/**
 * A conversation with an agent of this server, or with the inspected remote one, which stores its tasks.
 */
type Kept =
  | { readonly agent: string; readonly contextId: string }
  | { readonly url: string; readonly contextId: string; readonly turns: readonly KeptTurn[] };

/** Reopens the conversations from before a reload, and selects the one that the URL names. */
function restore(): void {
  const named = route.peek().view === 'talk' ? route.peek().id : undefined;
  for (const kept of keptTalks()) {
    const { contextId } = kept;
    if ('agent' in kept) {
      if (ownAgent(kept.agent) === undefined) continue;
      openContext(contextId, { agent: kept.agent, isBeside: true });
    } else if (kept.url === about.peek()?.target?.url) {
      void startTalk(foreignTarget(kept.url)).resume(contextId, kept.turns);
    }
  }
  if (named !== undefined) openContext(named, { isBeside: true });
  if (talks.peek().length === 0) startTalk();
}

function keptTalks(): readonly Kept[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(storageKey) ?? '[]');
    const isKept = (one: unknown): one is Kept =>
      typeof one === 'object' &&
      one !== null &&
      'contextId' in one &&
      ('agent' in one || ('url' in one && 'turns' in one));
    return Array.isArray(kept) ? kept.filter(isKept) : [];
  } catch {
    return [];
  }
}

function keep(): void {
  const kept = talks.value.flatMap((talk): readonly Kept[] => {
    const { own, url } = talk.target.value;
    const contextId = talk.contextId.value;
    if (contextId === undefined) return [];
    if (own !== undefined) return [{ agent: own, contextId }];
    return [{ url, contextId, turns: keptTurns(talk.current().turns) }];
  });
  sessionStorage.setItem(storageKey, JSON.stringify(kept));
}

let isStarted = false;

/**
 * Starts the conversations of the page when the server has responded. From then on it keeps them and the
 * URL in sync: the URL names the selected conversation, and a URL that the user enters opens one.
 */
export function followTalks(): void {
  effect(() => {
    if (about.value === undefined || isStarted) return;
    isStarted = true;
    queueMicrotask(() => {
      restore();
      effect(keep);
      effect(nameInAddress);
      effect(openFromAddress);
    });
  });
  onNotice(({ tasks = [], context }) => {
    for (const talk of talks.peek()) {
      const id = talk.contextId.peek();
      if (id === undefined) continue;
      if (context === id || tasks.some(({ contextId }) => contextId === id)) void talk.refresh();
    }
  });
}

/** Only conversations that the server stores can be reopened by their URL. */
function nameInAddress(): void {
  const talk = currentTalk();
  const id = talk?.target.value.own === undefined ? undefined : talk.contextId.value;
  if (route.peek().view === 'talk' && route.peek().id !== id) {
    replaceRoute(id === undefined ? { view: 'talk' } : { view: 'talk', id });
  }
}

function openFromAddress(): void {
  const { view, id } = route.value;
  if (view !== 'talk') return;
  untracked(() => {
    if (id === undefined) nameInAddress();
    else if (currentTalk()?.contextId.value !== id) openContext(id);
  });
}
