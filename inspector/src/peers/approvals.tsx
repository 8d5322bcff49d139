import type { PeerView } from '../../../src/http/inspector/model.ts';
import { path, post } from '../api/api.ts';
import { useAction } from '../api/loaded.ts';
import { Button } from '../ui/button.tsx';
import { Problem } from '../ui/notice.tsx';
import { timeOf } from '../ui/time.ts';
import { loadApprovals, waitingApprovals } from './waiting-approvals.ts';

/** The requests of peers that wait for the operator's decision. */
export function Approvals({ peers }: { readonly peers: readonly PeerView[] }) {
  const [refused, act] = useAction();
  const waiting = waitingApprovals.value;
  if (waiting.length === 0) return null;
  const decide = (id: string, decision: 'approve' | 'reject'): void => {
    act(post(path`approvals/${id}`, { decision }), () => void loadApprovals());
  };
  return (
    <section class="approvals" aria-label="Approvals waiting">
      <h2>Approvals waiting</h2>
      <Problem text={refused} />
      <ul>
        {waiting.map(({ id, peerId, title, detail, since }) => (
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
