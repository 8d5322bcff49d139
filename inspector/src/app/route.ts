import { signal } from '@preact/signals';

export const views = ['talk', 'tasks', 'push', 'peers', 'network'] as const;
export type ViewName = (typeof views)[number];

/** The current view and its selected item. Kept in the URL, so that it can be linked to. */
export interface Route {
  readonly view: ViewName;
  readonly id?: string;
}

export const route = signal<Route>(read());

function read(): Route {
  const [name = '', id = ''] = location.hash.replace(/^#\/?/, '').split('/');
  const view = views.find((one) => one === name) ?? 'talk';
  const decoded = decodedOf(id);
  return decoded === '' ? { view } : { view, id: decoded };
}

/** Empty if the encoding is invalid, as in a link that was cut off. */
function decodedOf(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return '';
  }
}

export function hrefOf({ view, id }: Route): string {
  return id === undefined ? `#/${view}` : `#/${view}/${encodeURIComponent(id)}`;
}

export function goTo(target: Route): void {
  location.hash = hrefOf(target);
}

/** Changes the address without an entry in the browser's history. */
export function replaceRoute(target: Route): void {
  history.replaceState(null, '', hrefOf(target));
  route.value = target;
}

export function followAddress(): void {
  addEventListener('hashchange', () => {
    route.value = read();
  });
}
