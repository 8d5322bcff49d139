import { useEffect, useState } from 'preact/hooks';
import type { PeersView as PeersAnswer } from '../../../src/http/inspector/model.ts';
import { about } from '../api/about.ts';
import { useLive } from '../api/loaded.ts';
import { Back } from '../app/back.tsx';
import { goTo, route } from '../app/route.ts';
import { begin } from '../talk/talks.ts';
import { foreignTarget, ownTarget } from '../talk/target.ts';
import { Button } from '../ui/button.tsx';
import { Empty, Notice, Problem } from '../ui/notice.tsx';
import { Approvals } from './approvals.tsx';
import { CardView } from './card-view.tsx';
import { type KnownAgent, forget, knownAgents, lookUp } from './known-agents.ts';
import { PeerList, type PeerRow } from './peer-list.tsx';
import { SubAgentDetail } from './sub-agent-detail.tsx';
import { TrustControl } from './trust-control.tsx';

/** Agents: those of the server, its known peers, and agents looked up by URL. */
export function PeersView() {
  // A first-time caller becomes a peer.
  const { value, problem, reload } = useLive<PeersAnswer>(
    'peers',
    ({ tasks }) => tasks !== undefined,
  );
  const rows = rowsOf(value);
  const chosen = rows.find(({ id }) => id === route.value.id) ?? rows[0];
  useEffect(() => {
    for (const { url, json } of knownAgents.peek()) if (json === undefined) void lookUp(url);
  }, []);
  return (
    <div class={route.value.id === undefined ? 'pair-view' : 'pair-view has-choice'}>
      <section class="pair-list" aria-label="Agents">
        <div class="view-bar">
          <h1>Peers</h1>
        </div>
        <LookUp />
        <Problem text={problem} />
        <PeerList rows={rows} chosen={chosen?.id} />
        <Approvals peers={value?.peers ?? []} />
        {value !== undefined && value.levels.length === 0 && (
          <p class="hint pad">
            This server keeps no directory of peers, so there is no trust to grant. Agents that join
            others with <code>joinPeers</code> show theirs here.
          </p>
        )}
      </section>
      <section class="pair-detail" aria-label="Agent">
        {chosen === undefined ? (
          <Empty icon="peers" title="No agent yet" />
        ) : (
          <PeerDetail key={chosen.id} row={chosen} answer={value} onChanged={reload} />
        )}
      </section>
    </div>
  );
}

function rowsOf(answer: PeersAnswer | undefined): readonly PeerRow[] {
  const { peers = [], subAgents = [] } = answer ?? {};
  const own = (about.value?.agents ?? []).map(({ name, card }) => ({
    id: `own ${name}`,
    name: card.name,
    address: 'this server',
    card: card as unknown,
    own: name,
  }));
  const known = peers.map((peer) => ({
    id: peer.id,
    name: peer.name,
    address: peer.address,
    card: peer.card as unknown,
    peer,
  }));
  const parts = subAgents.map((subAgent) => ({
    id: subAgent.id,
    name: subAgent.name,
    address: subAgent.address ?? `sub agent of ${nameOfOwn(subAgent.caller)}`,
    card: subAgent.card as unknown,
    subAgent,
  }));
  const looked = knownAgents.value.map((agent) => ({
    id: agent.url,
    name: nameIn(agent),
    address: agent.url,
    card: agent.json,
    problem: agent.problem,
    looked: agent.url,
  }));
  return [...own, ...parts, ...known, ...looked];
}

function nameOfOwn(agent: string): string {
  return about.value?.agents.find(({ name }) => name === agent)?.card.name ?? agent;
}

function nameIn({ json, url }: KnownAgent): string {
  const name = (json as { readonly name?: unknown } | undefined)?.name;
  return typeof name === 'string' && name !== '' ? name : new URL(url).host;
}

function LookUp() {
  const [url, setUrl] = useState('');
  const [problem, setProblem] = useState('');
  const submit = (event: Event): void => {
    event.preventDefault();
    const address = URL.parse(url.includes('://') ? url : `https://${url}`);
    if (address === null) return setProblem('This is not an address.');
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
      <Button type="submit" icon="search" label="Look it up" disabled={url.trim() === ''} />
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
    begin(row.own === undefined ? foreignTarget(row.address) : ownTarget(row.own));
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
          {row.looked !== undefined && (
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
      {row.problem !== undefined && row.problem !== '' && <Notice tone="bad">{row.problem}</Notice>}
      {row.peer !== undefined && answer !== undefined && (
        <TrustControl peer={row.peer} answer={answer} onChanged={onChanged} />
      )}
      <PeerCard row={row} />
    </>
  );
}

/** Parts of an assistant, and agents on the bus, have no URL that a page could call. */
function canTalk({ peer, subAgent }: PeerRow): boolean {
  if (subAgent !== undefined) return subAgent.address !== undefined;
  return peer?.transport !== 'bus';
}

function PeerCard({ row: { card, subAgent, looked } }: { readonly row: PeerRow }) {
  if (card !== undefined) return <CardView json={card} />;
  if (subAgent === undefined) {
    return (
      <Empty icon="peers" title="There is no card of this agent">
        {looked !== undefined && <p class="soft">Is the address right, and the agent running?</p>}
      </Empty>
    );
  }
  return <SubAgentDetail subAgent={subAgent} />;
}
