import { useState } from 'preact/hooks';
import type { ApprovalView, PeersView, PeerView } from '../../../src/http/inspector/model.ts';
import { about } from '../api/about.ts';
import { get, path, post } from '../api/api.ts';
import { onNotice } from '../api/live.ts';
import { Resource, useAction } from '../api/resource.ts';
import { Button } from '../ui/button.tsx';
import { Problem } from '../ui/notice.tsx';
import { timeOf } from '../ui/text.ts';

const approvals = new Resource<readonly ApprovalView[]>();
/** The requests of peers that wait for approval; every view shows their number. */
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

interface TrustControlProps {
  readonly peer: PeerView;
  readonly answer: PeersView;
  readonly onChanged: () => void;
}

/** Shows, grants and revokes the trust in a peer. */
export function TrustControl({ peer, answer, onChanged }: TrustControlProps) {
  const [problem, act] = useAction();
  const [level, setLevel] = useState(peer.trust);
  const [skills, setSkills] = useState((peer.approvedSkills ?? []).join(', '));
  const set = (wanted: string): void => {
    const before = level;
    setLevel(wanted);
    const approvedSkills = skills.split(/[\s,]+/).filter((id) => id !== '');
    const request = post(path`peers/${peer.id}/trust`, { level: wanted, approvedSkills });
    request.catch(() => setLevel(before));
    act(request, onChanged);
  };
  return (
    <section class="section trust">
      <h2>Trust</h2>
      <Problem text={problem} />
      <div class="trust-levels" role="radiogroup" aria-label="Trust">
        {answer.levels.map(({ name, description }) => (
          <label key={name} class={level === name ? 'trust-level chosen' : 'trust-level'}>
            <input
              type="radio"
              name={`trust ${peer.id}`}
              checked={level === name}
              disabled={!answer.canSetTrust}
              onChange={() => set(name)}
            />
            <span>
              <strong>{name}</strong>
              <span class="soft">{description}</span>
            </span>
          </label>
        ))}
      </div>
      <h3 class="soft">Approved skills</h3>
      <form
        class="inline-form"
        onSubmit={(event) => {
          event.preventDefault();
          set(level);
        }}
      >
        <input
          class="input mono"
          aria-label="Approved skills"
          placeholder="skills that it may use, separated by commas"
          value={skills}
          disabled={!answer.canSetTrust}
          onInput={(event) => setSkills(event.currentTarget.value)}
        />
        <Button type="submit" disabled={!answer.canSetTrust}>
          Approve
        </Button>
      </form>
      <p class="faint">
        {peer.interactions ?? 0} interactions
        {peer.lastSeen !== undefined && `, last seen ${timeOf(peer.lastSeen)}`}
        {peer.lastError !== undefined && ` · ${peer.lastError}`}
      </p>
    </section>
  );
}
