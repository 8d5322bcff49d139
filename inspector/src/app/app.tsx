import type { FunctionComponent } from 'preact';
import { about, aboutProblem } from '../api/about.ts';
import { refusal } from '../api/api.ts';
import { TalkView } from '../talk/talk-view.tsx';
import { lazy } from '../ui/lazy.tsx';
import { Problem } from '../ui/notice.tsx';
import { Access } from './access.tsx';
import { Navigation } from './navigation.tsx';
import { route, type ViewName } from './route.ts';
import { Help, isHelpOpen } from './shortcuts.tsx';

const contents: Readonly<Record<ViewName, FunctionComponent>> = {
  talk: TalkView,
  tasks: lazy(async () => (await import('../tasks/tasks-view.tsx')).TasksView),
  push: lazy(async () => (await import('../push/push-view.tsx')).PushView),
  peers: lazy(async () => (await import('../peers/peers-view.tsx')).PeersView),
  network: lazy(async () => (await import('../network/network-view.tsx')).NetworkView),
};

export function App() {
  if (refusal.value !== '') return <Access />;
  const View = contents[route.value.view];
  return (
    <div class="app">
      <a class="skip" href="#main" onClick={skip}>
        Go to the content
      </a>
      <Navigation />
      <main class="main" id="main" tabIndex={-1}>
        <Problem text={aboutProblem.value} />
        {about.value !== undefined && <View />}
      </main>
      {isHelpOpen.value && <Help />}
    </div>
  );
}

/** The URL hash holds the route, so a link within the page must not change it. */
function skip(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('#main')?.focus();
}
