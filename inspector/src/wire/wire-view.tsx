import { useState } from 'preact/hooks';
import { parseJsonOr } from '../api/json.ts';
import { Badge } from '../ui/badge.tsx';
import { Button, Copyable } from '../ui/button.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Empty, Problem } from '../ui/notice.tsx';
import { counted, durationOf } from '../ui/text.ts';
import { WindowedList } from '../ui/windowed-list.tsx';
import { ruleOf } from './checks.ts';
import { EventList, Mark, ProblemList } from './event-list.tsx';
import type { Exchange, WireLog } from './wire-log.ts';

/** All requests of a conversation with their responses. */
export function WireView({ log }: { readonly log: WireLog }) {
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const listed = log.current().exchanges.toReversed();
  const at = Math.max(
    0,
    listed.findIndex(({ number }) => number === chosen),
  );
  const exchange = listed[at];
  if (exchange === undefined) {
    return (
      <Empty icon="network" title="No requests yet">
        <p class="soft">Requests and responses appear here as they are on the wire.</p>
      </Empty>
    );
  }
  return (
    <div class="wire">
      <WindowedList
        label="Requests"
        count={listed.length}
        rowHeight={2.25}
        selected={at}
        onSelect={(index) => setChosen(listed[index]?.number)}
        rowKey={(index) => listed[index]?.number ?? index}
        row={(index) => <ExchangeRow exchange={listed[index]} />}
      />
      <ExchangeView key={exchange.number} exchange={exchange} version={log.version.value} />
      <div class="wire-foot">
        <Button kind="quiet" icon="trash" onClick={() => log.clear()}>
          Clear
        </Button>
      </div>
    </div>
  );
}

function ExchangeRow({ exchange }: { readonly exchange: Exchange | undefined }) {
  if (exchange === undefined) return null;
  const { startedAt, endedAt, frames, dropped, kind, problem } = exchange;
  const { tone, label } = outcomeOf(exchange);
  return (
    <span class="wire-row">
      <Mark isGood={exchange.faults === 0 && problem === ''} />
      <span class="wire-name">{nameOf(exchange)}</span>
      <span class="faint wire-binding">
        {kind.binding} {kind.version}
      </span>
      <span class="grow" />
      {exchange.isStream && <span class="faint">{counted(dropped + frames.length, 'event')}</span>}
      <Badge tone={tone}>{label}</Badge>
      <span class="faint wire-time">
        {endedAt === undefined ? 'open' : durationOf(endedAt - startedAt)}
      </span>
    </span>
  );
}

/** The HTTP status; gRPC calls have none here. */
function outcomeOf({ status, kind, problem, endedAt }: Exchange) {
  if (status !== undefined) {
    return { tone: status < 400 ? 'good' : 'bad', label: String(status) } as const;
  }
  const isGrpc = kind.binding === 'GRPC';
  if (problem !== '') {
    return { tone: 'neutral', label: isGrpc ? 'failed' : 'no response' } as const;
  }
  if (isGrpc && endedAt !== undefined) return { tone: 'good', label: 'OK' } as const;
  return { tone: 'neutral', label: '…' } as const;
}

/** The name of the called operation in the specification: `SendMessage`, `message/send`. */
function nameOf({ kind, method }: Exchange): string {
  const { operation = method } = kind;
  return kind.method ?? operation.charAt(0).toUpperCase() + operation.slice(1);
}

interface ExchangeViewProps {
  readonly exchange: Exchange;
  /** The exchange is mutated in place: a changed property is needed for a new render. */
  readonly version: number;
}

/** One exchange: the request on one side, the response on the other. */
function ExchangeView({ exchange }: ExchangeViewProps) {
  const [chosen, setChosen] = useState(-1);
  const [isRaw, setRaw] = useState(false);
  const { frames, isStream, method, url, requestBody } = exchange;
  const selected = chosen < 0 ? frames.length - 1 : chosen;
  const frame = frames[selected];
  return (
    <div class="wire-sides">
      <section class="wire-side" aria-label="Request">
        <h3>Request</h3>
        <p class="wire-address mono">
          {method} {url}
        </p>
        <HeaderList headers={exchange.requestHeaders} />
        {requestBody !== '' && (
          <>
            <ProblemList problems={exchange.requestProblems} rule={ruleOf(exchange.kind)} />
            <Body text={requestBody} />
          </>
        )}
      </section>
      <section class="wire-side" aria-label="Response">
        <h3>{isStream ? 'Events' : 'Response'}</h3>
        <Problem text={exchange.problem} />
        <HeaderList headers={exchange.responseHeaders} />
        {exchange.raw !== '' && (
          <Button pressed={isRaw} onClick={() => setRaw(!isRaw)}>
            As received
          </Button>
        )}
        {isRaw && <RawBody exchange={exchange} />}
        {!isRaw && isStream && (
          <EventList
            label="Events of the stream"
            events={frames}
            count={frames.length}
            rowHeight={2}
            selected={selected}
            onSelect={setChosen}
            follows={chosen < 0}
          />
        )}
        {!isRaw && frame !== undefined && (
          <div class="frame-detail">
            <ProblemList problems={frame.problems} rule={ruleOf(exchange.kind)} />
            <Body text={frame.text} />
          </div>
        )}
      </section>
    </div>
  );
}

/** The raw body, with the framing of its events. */
function RawBody({ exchange: { raw, rawLength } }: { readonly exchange: Exchange }) {
  return (
    <Copyable text={raw}>
      <pre class="wire-raw" tabIndex={0}>
        {raw}
      </pre>
      {rawLength > raw.length && (
        <p class="faint">
          The first {raw.length.toLocaleString()} of {rawLength.toLocaleString()} characters.
        </p>
      )}
    </Copyable>
  );
}

export function HeaderList({ headers }: { readonly headers: Exchange['requestHeaders'] }) {
  if (headers.length === 0) return null;
  return (
    <details class="headers">
      <summary>{headers.length} headers</summary>
      <dl>
        {headers.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/** A body as a JSON tree, or as text. */
export function Body({ text }: { readonly text: string }) {
  const json = parseJsonOr(text, undefined);
  return (
    <Copyable text={text}>
      {json === undefined ? <pre>{text.slice(0, 20_000)}</pre> : <JsonView value={json} open={9} />}
    </Copyable>
  );
}
