import { signal } from '@preact/signals';
import type { ApprovalView } from '../../../src/http/inspector/model.ts';
import { about } from '../api/about.ts';
import { get } from '../api/api.ts';
import { onNotice } from '../api/live.ts';

/** The requests of peers that wait for the operator, shown in every view. */
export const waitingApprovals = signal<readonly ApprovalView[]>([]);

export async function loadApprovals(): Promise<void> {
  if (about.peek()?.hasNetwork !== true) return;
  try {
    waitingApprovals.value = await get<readonly ApprovalView[]>('approvals');
  } catch {
    // The next notice retries; other parts of the page show the error.
  }
}

/** A pending approval has a task, so task notices cover it. */
export function followApprovals(): void {
  about.subscribe(() => void loadApprovals());
  onNotice(({ tasks }) => {
    if (tasks !== undefined) void loadApprovals();
  });
}
