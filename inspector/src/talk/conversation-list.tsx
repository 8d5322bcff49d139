import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type {
  ConversationListView,
  ConversationSummary,
} from '../../../src/http/inspector/model.ts';
import { get } from '../api/api.ts';
import { onNotice } from '../api/live.ts';
import { Resource } from '../api/resource.ts';
import { Badge, StateBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Empty, Problem } from '../ui/notice.tsx';
import { shortTimeOf, timeOf } from '../ui/text.ts';
import { WindowedList } from '../ui/windowed-list.tsx';
import { currentTalk, openContext } from './talks.ts';

const page: Resource<ConversationListView> = new Resource();
const search = signal('');

function queryOf(after?: string): string {
  const given = { search: search.peek().trim(), ...(after !== undefined && { after }) };
  return `conversations?${new URLSearchParams(given)}`;
}

function reload(): Promise<void> {
  return page.load(() => get(queryOf()));
}

/** Adds a page. An entry that is already listed is newer there, so the page's copy is dropped. */
async function loadMore(): Promise<void> {
  const { conversations = [], next } = page.value.peek() ?? {};
  if (next === undefined) return;
  await page.load(async () => {
    const more = await get<ConversationListView>(queryOf(next));
    const known = new Set(conversations.map(keyOf));
    const added = more.conversations.filter((one) => !known.has(keyOf(one)));
    return { ...more, conversations: [...conversations, ...added] };
  });
}

function keyOf({ owner, id }: ConversationSummary): string {
  return `${owner.key} ${id}`;
}

/** How long to wait after a keystroke before searching, in milliseconds. */
const typingMs = 250;

/** The conversations of all callers and channels, the latest first. */
export function ConversationList({ onOpened }: { readonly onOpened: () => void }) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    void reload();
    const stop = onNotice(({ tasks, context }) => {
      const isFirstPage = (page.value.peek()?.conversations.length ?? 0) <= 100;
      if ((tasks !== undefined || context !== undefined) && isFirstPage) void reload();
    });
    return () => {
      clearTimeout(timer.current);
      stop();
    };
  }, []);
  const { conversations = [], next } = page.value.value ?? {};
  const talk = currentTalk();
  const current = talk?.contextId.value;
  const owner = talk?.owner.value?.key;
  return (
    <section class="talk-list" aria-label="Conversations">
      <div class="filters" role="search">
        <input
          class="input"
          type="search"
          aria-label="Search conversations"
          placeholder="Search messages, ids, callers"
          value={search.value}
          onInput={({ currentTarget }) => {
            search.value = currentTarget.value;
            clearTimeout(timer.current);
            timer.current = setTimeout(() => void reload(), typingMs);
          }}
        />
      </div>
      <Problem text={page.problem.value} />
      {conversations.length === 0 ? (
        <NoConversations isLoaded={page.value.value !== undefined} />
      ) : (
        <WindowedList
          label="Conversations"
          count={conversations.length}
          rowHeight={4}
          selected={conversations.findIndex(
            (one) => one.id === current && (owner === undefined || one.owner.key === owner),
          )}
          onSelect={(index) => {
            const one = conversations[index];
            if (one === undefined) return;
            openContext(one.id, { owner: one.owner.key, agent: one.owner.agent });
            onOpened();
          }}
          rowKey={(index) => {
            const one = conversations[index];
            return one === undefined ? index : keyOf(one);
          }}
          row={(index) => <ConversationRow conversation={conversations[index]} />}
        />
      )}
      {next !== undefined && (
        <div class="pad">
          <Button kind="quiet" onClick={() => void loadMore()}>
            {search.value === '' ? 'Load more' : 'Search older conversations'}
          </Button>
        </div>
      )}
    </section>
  );
}

function NoConversations({ isLoaded }: { readonly isLoaded: boolean }) {
  if (!isLoaded) return null;
  const isSearch = search.value.trim() !== '';
  return (
    <Empty icon="talk" title={isSearch ? 'No matches' : 'No conversations yet'}>
      <p class="soft">
        {isSearch
          ? 'All words have to occur in one conversation.'
          : 'Conversations of all channels appear here: this page, A2A, REST, the bus.'}
      </p>
    </Empty>
  );
}

function ConversationRow({
  conversation,
}: {
  readonly conversation: ConversationSummary | undefined;
}) {
  if (conversation === undefined) return null;
  const { id, title, latest, channel, owner, time, state } = conversation;
  return (
    <div class="task-row">
      <span class="task-row-title" title={title}>
        {title || latest || id}
      </span>
      <span class="task-row-facts">
        {channel !== '' && <Badge>{channel}</Badge>}
        {state !== undefined && state !== 'TASK_STATE_COMPLETED' && <StateBadge state={state} />}
        {owner.subject !== '' && <span class="faint">{owner.subject}</span>}
        <span class="grow" />
        <time class="faint" title={timeOf(time)}>
          {shortTimeOf(time)}
        </time>
      </span>
    </div>
  );
}
