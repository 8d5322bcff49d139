import { effect, signal } from '@preact/signals';
import { about, ownAgent } from '../api/about.ts';
import { liveState } from '../api/live.ts';
import { pendingApprovals } from '../peers/trust.tsx';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { hrefOf, route, type ViewName, views } from './route.ts';
import { isHelpOpen } from './shortcuts.tsx';

const titles: Readonly<Record<ViewName, string>> = {
  talk: 'Talk',
  tasks: 'Tasks',
  push: 'Push',
  peers: 'Peers',
  network: 'Network',
};

const liveTexts = {
  connecting: 'Connecting to the server',
  connected: 'Connected to the server',
  disconnected: 'No connection to the server; retrying',
} as const;

/** The links to all views, and the controls that they share. */
export function Navigation() {
  const agent = ownAgent();
  return (
    <header class="nav">
      <div class="nav-brand">
        <span class="nav-mark" aria-hidden="true">
          <svg viewBox="0 0 32 32">
            <path d="M10 8v16h12M16 8h6v7" />
          </svg>
        </span>
        <div class="nav-agent">
          <strong>
            {agent?.card.name ?? about.value?.target?.name ?? about.value?.target?.url ?? 'Legate'}
          </strong>
          <span class="nav-live">
            <span class={`dot ${liveState.value}`} title={liveTexts[liveState.value]} />
            <span>
              {liveState.value === 'disconnected' ? 'disconnected' : (about.value?.store ?? '')}
            </span>
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
                {view === 'peers' && <PendingCount count={pendingApprovals.value?.length ?? 0} />}
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

function PendingCount({ count }: { readonly count: number }) {
  if (count === 0) return null;
  return (
    <span class="nav-count">
      {count}
      <span class="hidden-label"> waiting for approval</span>
    </span>
  );
}

const themeKey = 'legate-inspector-theme';
const systemTheme = matchMedia('(prefers-color-scheme: dark)');
const theme = signal(currentTheme());

/** The user's choice; without one, the system's. */
function currentTheme(): 'light' | 'dark' {
  const saved = localStorage.getItem(themeKey);
  if (saved === 'dark' || saved === 'light') return saved;
  return systemTheme.matches ? 'dark' : 'light';
}

export function applyTheme(): void {
  systemTheme.addEventListener('change', () => {
    theme.value = currentTheme();
  });
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
}

function toggleTheme(): void {
  const next = theme.peek() === 'dark' ? 'light' : 'dark';
  // The system's preference needs no stored choice.
  if ((next === 'dark') === systemTheme.matches) localStorage.removeItem(themeKey);
  else localStorage.setItem(themeKey, next);
  theme.value = next;
}
