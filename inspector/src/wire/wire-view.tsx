import { useState } from 'preact/hooks';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { moved } from '../ui/list-keys.ts';
import { Empty } from '../ui/notice.tsx';
import { durationOf } from '../ui/time.ts';
import { ExchangeView } from './exchange-view.tsx';
import type { Exchange, WireLog } from './exchange.ts';
import { JudgedExchange } from './judged-exchange.ts';
import { Mark } from './problem-list.tsx';

/** All requests of a conversation with their responses. */
export function WireView({ log }: { readonly log: WireLog }) {
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  // Subscribes to the log.
  const isAny = log.version.value >= 0 && log.exchanges.length > 0;
  if (!isAny) {
    return (
      <Empty icon="network" title="Nothing was sent yet">
        <p class="soft">Requests and answers show up here as they are on the wire.</p>
      </Empty>
    );
  }
  const listed = log.exchanges.toReversed();
  const exchange = listed.find(({ number }) => number === chosen) ?? listed[0];
  return (
    <div class="wire">
      <div
        class="wire-list"
        role="listbox"
        aria-label="Requests"
        tabIndex={0}
        onKeyDown={(event) => {
          const at = moved(
            event.key,
            listed.findIndex((one) => one === exchange),
            listed.length,
            1,
          );
          if (at === undefined) return;
          event.preventDefault();
          setChosen(listed[at]?.number);
        }}
      >
        {listed.map((one) => (
          <ExchangeRow
            key={one.number}
            exchange={one}
            isChosen={one === exchange}
            onChoose={() => setChosen(one.number)}
          />
        ))}
      </div>
      {exchange !== undefined && <ExchangeView key={exchange.number} exchange={exchange} />}
      <div class="wire-foot">
        <Button kind="quiet" icon="trash" onClick={() => log.clear()}>
          Clear
        </Button>
      </div>
    </div>
  );
}

interface ExchangeRowProps {
  readonly exchange: Exchange;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function ExchangeRow({ exchange, isChosen, onChoose }: ExchangeRowProps) {
  const judged = JudgedExchange.of(exchange);
  const { status, startedAt, endedAt, frames, dropped } = exchange;
  const { operation, version, binding } = judged.spoken;
  const isWell = status !== undefined && status < 400;
  return (
    <button
      type="button"
      role="option"
      tabIndex={-1}
      aria-selected={isChosen}
      class="wire-row"
      onClick={onChoose}
    >
      <Mark isGood={judged.count === 0 && exchange.problem === ''} />
      <span class="wire-name">{operation ?? exchange.method}</span>
      <span class="faint wire-binding">
        {binding} {version}
      </span>
      <span class="grow" />
      {exchange.isStream && <span class="faint">{dropped + frames.length} events</span>}
      <Badge tone={status === undefined ? 'neutral' : isWell ? 'good' : 'bad'}>
        {status ?? (exchange.problem === '' ? '…' : 'no answer')}
      </Badge>
      <span class="faint wire-time">
        {endedAt === undefined ? 'open' : durationOf(endedAt - startedAt)}
      </span>
    </button>
  );
}
