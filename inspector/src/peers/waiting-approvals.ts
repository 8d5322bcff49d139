import { signal } from '@preact/signals';
import type { ApprovalView } from '../../../src/http/inspector/network.ts';
import { about } from '../api/about.ts';
import { get } from '../api/api.ts';
import { onNotice } from '../api/live.ts';

/** What peers want and an operator has to decide; they wait for it, whatever view is open. */
export const waitingApprovals = signal<readonly ApprovalView[]>([]);

export async function loadApprovals(): Promise<void> {
  if (about.peek()?.hasNetwork !== true) return;
  try {
    waitingApprovals.value = await get<readonly ApprovalView[]>('approvals');
  } catch {
    // The next notice brings another try; what is wrong with the server is told elsewhere.
  }
}

/** Whoever waits for an approval has a task, and tasks that change are told of. */
export function followApprovals(): void {
  about.subscribe(() => void loadApprovals());
  onNotice(({ tasks }) => {
    if (tasks !== undefined) void loadApprovals();
  });
}
