import { signal } from '@preact/signals';
import type { AboutView, AgentView } from '../../../src/http/inspector/model.ts';
import { get, reasonOf } from './api.ts';

/** The inspected server; undefined until it has answered. */
export const about = signal<AboutView | undefined>(undefined);
export const aboutProblem = signal('');

export async function loadAbout(): Promise<void> {
  try {
    about.value = await get<AboutView>('about');
    aboutProblem.value = '';
  } catch (error) {
    aboutProblem.value = reasonOf(error, 'the server does not answer');
  }
}

/** The first agent, for views that are about one. */
export function mainAgent(): AgentView | undefined {
  return about.value?.agents[0];
}
