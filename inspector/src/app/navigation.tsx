import { about, mainAgent } from '../api/about.ts';
import { liveState } from '../api/live.ts';
import { waitingApprovals } from '../peers/waiting-approvals.ts';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { hrefOf, route, type ViewName, views } from './route.ts';
import { isHelpOpen } from './shortcuts.ts';
import { theme, toggleTheme } from './theme.ts';

const titles: Readonly<Record<ViewName, string>> = {
  talk: 'Talk',
  tasks: 'Tasks',
  push: 'Push',
  peers: 'Peers',
  network: 'Network',
};

const liveTexts = {
  connecting: 'Connecting to the server',
  following: 'Following the server',
  lost: 'The server does not answer; trying again',
} as const;

/** The links to all views, and the controls that they share. */
export function Navigation() {
  const agent = mainAgent();
  return (
    <header class="nav">
      <div class="nav-brand">
        <span class="nav-mark" aria-hidden="true">
          <svg viewBox="0 0 32 32">
            <path d="M10 8v16h12M16 8h6v7" />
          </svg>
        </span>
        <div class="nav-agent">
          <strong>{agent?.card.name ?? 'Legate'}</strong>
          <span class="nav-live">
            <span class={`dot ${liveState.value}`} title={liveTexts[liveState.value]} />
            <span>{liveState.value === 'lost' ? 'not reachable' : (about.value?.store ?? '')}</span>
          </span>
        </div>
      </div>
      <nav aria-label="Views">
        <ul class="nav-list">
          {views.map((view, index) => (
            <li key={view}>
              <a
                class="nav-link"
                href={hrefOf({ view })}
                aria-current={route.value.view === view ? 'page' : undefined}
                title={`${titles[view]} (${index + 1})`}
              >
                <Icon name={view} />
                <span>{titles[view]}</span>
                {view === 'peers' && <Waiting count={waitingApprovals.value.length} />}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="nav-tools">
        <Button
          kind="quiet"
          icon={theme.value === 'dark' ? 'sun' : 'moon'}
          label={theme.value === 'dark' ? 'Use light colours' : 'Use dark colours'}
          onClick={toggleTheme}
        />
        <Button
          kind="quiet"
          icon="help"
          label="Keyboard shortcuts"
          onClick={() => {
            isHelpOpen.value = true;
          }}
        />
      </div>
    </header>
  );
}

function Waiting({ count }: { readonly count: number }) {
  if (count === 0) return null;
  return (
    <span class="nav-count">
      {count}
      <span class="hidden-label"> waiting for approval</span>
    </span>
  );
}
