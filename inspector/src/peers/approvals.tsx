import type { ApprovalView, PeerView } from '../../../src/http/inspector/model.ts';
import { about } from '../api/about.ts';
import { get, path, post } from '../api/api.ts';
import { onNotice } from '../api/live.ts';
import { Resource, useAction } from '../api/resource.ts';
import { Button } from '../ui/button.tsx';
import { Problem } from '../ui/notice.tsx';
import { timeOf } from '../ui/text.ts';

const approvals = new Resource<readonly ApprovalView[]>();
/** The requests of peers that wait for the operator; every view shows their number. */
export const pendingApprovals = approvals.value;

async function loadApprovals(): Promise<void> {
  if (about.peek()?.hasNetwork === true) await approvals.load(() => get('approvals'));
}

/** A pending approval has a task, so task notices cover it. */
export function followApprovals(): void {
  about.subscribe(() => void loadApprovals());
  onNotice(({ tasks }) => {
    if (tasks !== undefined) void loadApprovals();
  });
}

/** The pending approvals, and the operator's decision. */
export function Approvals({ peers }: { readonly peers: readonly PeerView[] }) {
  const [problem, act] = useAction();
  const pending = pendingApprovals.value ?? [];
  if (pending.length === 0) return null;
  const decide = (id: string, decision: 'approve' | 'reject'): void => {
    act(post(path`approvals/${id}`, { decision }), () => void loadApprovals());
  };
  return (
    <section class="approvals" aria-label="Pending approvals">
      <h2>Pending approvals</h2>
      <Problem text={problem || approvals.problem.value} />
      <ul>
        {pending.map(({ id, peerId, title, detail, since }) => (
          <li key={id} class="approval">
            <strong>{title}</strong>
            <span class="faint">
              {peers.find((peer) => peer.id === peerId)?.name ?? peerId}, since {timeOf(since)}
            </span>
            {detail !== undefined && <p class="soft">{detail}</p>}
            <div class="tools">
              <Button kind="primary" onClick={() => decide(id, 'approve')}>
                Approve
              </Button>
              <Button onClick={() => decide(id, 'reject')}>Reject</Button>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
