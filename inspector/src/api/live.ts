import { signal } from '@preact/signals';
import type { LiveNotice } from '../../../src/http/inspector/model.ts';
import { eventsOf, request } from './api.ts';
import { refusal } from './credential.ts';

export type LiveState = 'connecting' | 'following' | 'lost';
export const liveState = signal<LiveState>('connecting');

const listeners = new Set<(notice: LiveNotice) => void>();
const contexts = new Map<string, number>();
let current: AbortController | undefined;

/** Calls back with each notice until the returned function is called. */
export function onNotice(listener: (notice: LiveNotice) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Also subscribes to notices about this conversation, which may have no tasks. */
export function watchContext(id: string): () => void {
  contexts.set(id, (contexts.get(id) ?? 0) + 1);
  current?.abort('restart');
  return () => {
    const left = (contexts.get(id) ?? 1) - 1;
    if (left > 0) contexts.set(id, left);
    else contexts.delete(id);
  };
}

/** Follows the server while the page is open; reconnects after a lost connection. */
export async function followServer(): Promise<void> {
  for (let pause = 500; ; pause = Math.min(pause * 2, 10_000)) {
    const controller = new AbortController();
    current = controller;
    try {
      await follow(controller.signal, () => {
        pause = 250;
      });
    } catch {
      if (controller.signal.aborted) continue;
    }
    liveState.value = 'lost';
    await admitted();
    await new Promise((resolve) => void setTimeout(resolve, pause));
  }
}

/** Resolves once the server grants access: requests before that would count as failed logins. */
function admitted(): Promise<void> {
  return new Promise((resolve) => {
    const leave = refusal.subscribe((reason) => {
      if (reason !== '') return;
      resolve();
      queueMicrotask(() => leave());
    });
  });
}

async function follow(signal: AbortSignal, onOpen: () => void): Promise<void> {
  const query = new URLSearchParams(Array.from(contexts.keys(), (id) => ['context', id]));
  const response = await request(`live?${query}`, { signal });
  const wasLost = liveState.peek() === 'lost';
  liveState.value = 'following';
  onOpen();
  // Notices are not replayed after a lost connection: everything may have changed.
  if (wasLost) tell({ tasks: [], push: true, receiver: true, contexts: [...contexts.keys()] });
  for await (const { data } of eventsOf(response.body)) tell(JSON.parse(data) as LiveNotice);
}

function tell(notice: LiveNotice): void {
  for (const listener of listeners) listener(notice);
}
