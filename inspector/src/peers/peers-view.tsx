import { useEffect, useState } from 'preact/hooks';
import type { PeersView as PeersAnswer, SubAgentView } from '../../../src/http/inspector/model.ts';
import { about } from '../api/about.ts';
import { useLive } from '../api/resource.ts';
import { Back, PairView } from '../app/pair-view.tsx';
import { goTo, route } from '../app/route.ts';
import { startTalk } from '../talk/talks.ts';
import { foreignTarget, ownTarget } from '../talk/target.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Empty, Problem } from '../ui/notice.tsx';
import { CardView } from './card-view.tsx';
import { forget, knownAgents, lookUp } from './known-agents.ts';
import { PeerList, type PeerRow, peerRows } from './peer-list.tsx';
import { Approvals, TrustControl } from './trust.tsx';

/** All agents: the server's own, its known peers, and agents looked up by URL. */
export function PeersView() {
  // Reloaded with every task: its caller can be a new peer.
  const { value, problem, reload } = useLive<PeersAnswer>(
    'peers',
    ({ tasks }) => tasks !== undefined,
  );
  const rows = peerRows(value);
  const chosen = rows.find(({ id }) => id === route.value.id) ?? rows[0];
  useEffect(() => {
    for (const { url, json } of knownAgents.peek()) if (json === undefined) void lookUp(url);
    const inspected = about.peek()?.target;
    if (inspected !== undefined) void lookUp(inspected.url);
  }, []);
  return (
    <PairView
      title="Peers"
      list={
        <>
          <LookUp />
          <Problem text={problem} />
          <PeerList rows={rows} chosen={chosen?.id} />
          <Approvals peers={value?.peers ?? []} />
          {value?.levels.length === 0 && (
            <p class="hint pad">
              This server has no peer directory, so there is no trust to grant. Agents that join
              others with <code>joinPeers</code> have one.
            </p>
          )}
        </>
      }
      detailLabel="Agent"
      detail={
        chosen === undefined ? (
          <Empty icon="peers" title="No agents yet">
            <p class="soft">Look an agent up by its address.</p>
          </Empty>
        ) : (
          <PeerDetail key={chosen.id} row={chosen} answer={value} onChanged={reload} />
        )
      }
    />
  );
}

function LookUp() {
  const [url, setUrl] = useState('');
  const [problem, setProblem] = useState('');
  const submit = (event: Event): void => {
    event.preventDefault();
    const address = URL.parse(url.includes('://') ? url : `https://${url}`);
    if (address === null) return setProblem('Invalid address.');
    setProblem('');
    setUrl('');
    void lookUp(address.href).then(() => goTo({ view: 'peers', id: address.href }));
  };
  return (
    <form class="inline-form pad" onSubmit={submit}>
      <input
        class="input"
        data-slash
        aria-label="Address of an agent or of its card"
        placeholder="Look up an agent by its address"
        value={url}
        onInput={(event) => setUrl(event.currentTarget.value)}
      />
      <Button type="submit" icon="search" label="Look up" disabled={url.trim() === ''} />
      {problem !== '' && <p class="bad-text">{problem}</p>}
    </form>
  );
}

interface PeerDetailProps {
  readonly row: PeerRow;
  readonly answer: PeersAnswer | undefined;
  readonly onChanged: () => void;
}

function PeerDetail({ row, answer, onChanged }: PeerDetailProps) {
  const talk = (): void => {
    startTalk(row.own === undefined ? foreignTarget(row.address) : ownTarget(row.own));
    goTo({ view: 'talk' });
  };
  return (
    <>
      <div class="detail-bar">
        <Back view="peers" />
        <code class="faint grow">{row.address}</code>
        <div class="tools">
          {canTalk(row) && (
            <Button icon="talk" onClick={talk}>
              Talk
            </Button>
          )}
          {row.isLookedUp === true && (
            <>
              <Button icon="replay" onClick={() => void lookUp(row.address)}>
                Fetch again
              </Button>
              <Button
                kind="quiet"
                icon="trash"
                label="Forget this agent"
                onClick={() => {
                  forget(row.address);
                  goTo({ view: 'peers' });
                }}
              />
            </>
          )}
        </div>
      </div>
      <Problem text={row.problem ?? ''} />
      {row.peer !== undefined && answer !== undefined && (
        <TrustControl peer={row.peer} answer={answer} onChanged={onChanged} />
      )}
      <PeerCard row={row} />
    </>
  );
}

/** Parts of an assistant and agents on the bus have no URL that a browser can call. */
function canTalk({ peer, subAgent }: PeerRow): boolean {
  if (subAgent !== undefined) return subAgent.address !== undefined;
  return peer?.transport !== 'bus';
}

function PeerCard({ row: { card, subAgent, isLookedUp } }: { readonly row: PeerRow }) {
  if (card !== undefined) return <CardView json={card} />;
  if (subAgent !== undefined) return <SubAgentDetail subAgent={subAgent} />;
  return (
    <Empty icon="peers" title="No card">
      {isLookedUp === true && <p class="soft">Check the address, and that the agent is running.</p>}
    </Empty>
  );
}

const kinds: Readonly<Record<SubAgentView['kind'], string>> = {
  A2A: 'remote agent',
  code: 'custom code',
  model: 'language model',
};

const descriptions: Readonly<Record<SubAgentView['kind'], string>> = {
  A2A: 'Its card is fetched when the assistant calls it.',
  code: 'A module of the project: it has no card and no address of its own.',
  model: 'A model with tools: it has no card and no address of its own.',
};

/** A sub agent of an assistant without a card. */
function SubAgentDetail({ subAgent }: { readonly subAgent: SubAgentView }) {
  const { name, description, kind, address } = subAgent;
  const fetchCard = (url: string): void => {
    void lookUp(url).then(() => goTo({ view: 'peers', id: url }));
  };
  return (
    <header class="card-head">
      <h2>{name}</h2>
      <p class="soft">{description}</p>
      <p class="badges">
        <Badge tone="info">sub agent</Badge>
        <Badge>{kinds[kind]}</Badge>
      </p>
      <p class="faint">{descriptions[kind]} See Slots and Turn for its work in a conversation.</p>
      {address !== undefined && (
        <p>
          <Button icon="search" onClick={() => fetchCard(address)}>
            Fetch its card
          </Button>
        </p>
      )}
    </header>
  );
}
