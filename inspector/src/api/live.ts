import { signal } from '@preact/signals';
import type { LiveNotice } from '../../../src/http/inspector/model.ts';
import { eventsOf, jsonOf, path, refusal, request } from './api.ts';

export const liveState = signal<'connecting' | 'connected' | 'disconnected'>('connecting');

const listeners = new Set<(notice: LiveNotice) => void>();
/** The query: the context id, and the owner if it is not the operator. */
let watched: string | undefined;
let watchedId = '';
let connection: AbortController | undefined;

/** Calls back with each notice until the returned function is called. */
export function onNotice(listener: (notice: LiveNotice) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Also subscribes to notices about this conversation, which may have no tasks; one at a time. */
export function watchContext(id: string, owner?: string): void {
  const query = path`?context=${id}` + (owner === undefined ? '' : path`&owner=${owner}`);
  if (watched === query) return;
  watched = query;
  watchedId = id;
  connection?.abort();
}

/** Follows the server while the page is open; reconnects after a lost connection. */
export async function followServer(): Promise<void> {
  for (let pause = 500; ; pause = Math.min(pause * 2, 10_000)) {
    connection = new AbortController();
    const { signal: leaving } = connection;
    try {
      const { body } = await request(`live${watched ?? ''}`, { signal: leaving });
      const wasLost = liveState.peek() === 'disconnected';
      liveState.value = 'connected';
      pause = 250;
      // The server doesn't replay notices after a lost connection: any value can have changed.
      if (wasLost) publish({ tasks: [], push: true, receiver: true, context: watchedId });
      // The conversation can have changed between loading and watching it.
      else if (watched !== undefined) publish({ context: watchedId });
      for await (const { data } of eventsOf(body)) publish(jsonOf<LiveNotice>(data));
    } catch {
      if (leaving.aborted) continue;
    }
    liveState.value = 'disconnected';
    await accessGranted();
    await new Promise((resolve) => void setTimeout(resolve, pause));
  }
}

/** Resolves once the server grants access: requests before that would count as failed logins. */
function accessGranted(): Promise<void> {
  return new Promise((resolve) => {
    const unsubscribe = refusal.subscribe((reason) => {
      if (reason !== '') return;
      resolve();
      queueMicrotask(() => unsubscribe());
    });
  });
}

function publish(notice: LiveNotice): void {
  for (const listener of listeners) listener(notice);
}
