import { useState } from 'preact/hooks';
import type { ApprovalView, PeerView } from '../../../src/http/inspector/network.ts';
import { get, path, post } from '../api/api.ts';
import { useLoaded } from '../api/loaded.ts';
import { reasonOf } from '../api/reason.ts';
import { Button } from '../ui/button.tsx';
import { Notice } from '../ui/notice.tsx';
import { timeOf } from '../ui/time.ts';

/** What peers want and an operator has to decide. */
export function Approvals({ peers }: { readonly peers: readonly PeerView[] }) {
  const [refused, setRefused] = useState('');
  const { value = [], reload } = useLoaded(
    (signal) => get<readonly ApprovalView[]>('approvals', signal),
    [],
  );
  if (value.length === 0) return null;
  const decide = (id: string, decision: 'approve' | 'reject'): void => {
    post(path`approvals/${id}`, { decision }).then(
      () => reload(),
      (error: unknown) => setRefused(reasonOf(error)),
    );
  };
  return (
    <section class="approvals" aria-label="Approvals waiting">
      <h2>Approvals waiting</h2>
      {refused !== '' && <Notice tone="bad">{refused}</Notice>}
      <ul>
        {value.map(({ id, peerId, title, detail, since }) => (
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
