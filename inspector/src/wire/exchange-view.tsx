import { useState } from 'preact/hooks';
import { Copy } from '../ui/copy.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Problem } from '../ui/notice.tsx';
import { WindowedList } from '../ui/windowed-list.tsx';
import { EventLine } from './event-line.tsx';
import type { Exchange } from './exchange.ts';
import { frameSummary } from './frame-summary.ts';
import { JudgedExchange } from './judged-exchange.ts';
import { ProblemList } from './problem-list.tsx';
import { parsed } from './validate-frame.ts';

/** One exchange: the request on one side, the response on the other. */
export function ExchangeView({ exchange }: { readonly exchange: Exchange }) {
  const judged = JudgedExchange.of(exchange);
  return (
    <div class="wire-sides">
      <section class="wire-side" aria-label="Request">
        <h3>Request</h3>
        <p class="wire-address mono">
          {exchange.method} {exchange.url}
        </p>
        <HeaderList headers={exchange.requestHeaders} />
        {exchange.requestBody !== '' && (
          <>
            <ProblemList problems={judged.requestProblems} />
            <Body text={exchange.requestBody} />
          </>
        )}
      </section>
      <section class="wire-side" aria-label="Answer">
        <h3>{exchange.isStream ? 'Events' : 'Answer'}</h3>
        <Problem text={exchange.problem} />
        <HeaderList headers={exchange.responseHeaders} />
        <Frames exchange={exchange} judged={judged} count={exchange.frames.length} />
      </section>
    </div>
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

interface FramesProps {
  readonly exchange: Exchange;
  readonly judged: JudgedExchange;
  /** The exchange is mutated in place: changes with every frame, so that the list updates. */
  readonly count: number;
}

function Frames({ exchange, judged, count }: FramesProps) {
  const [chosen, setChosen] = useState(-1);
  const { frames, isStream } = exchange;
  const selected = chosen < 0 ? count - 1 : chosen;
  const frame = frames[selected];
  return (
    <>
      {isStream && (
        <WindowedList
          label="Events of the stream"
          count={count}
          rowHeight={2}
          selected={selected}
          onSelect={setChosen}
          follows={chosen < 0}
          rowKey={(index) => frames[index]?.number ?? index}
          row={(index) => {
            const one = frames[index];
            if (one === undefined) return null;
            return (
              <EventLine
                isGood={judged.problemsOf(one).length === 0}
                number={one.number}
                summary={judged.summaryOf(one)}
                raw={frameSummary(one.text)}
              />
            );
          }}
        />
      )}
      {frame !== undefined && (
        <div class="frame-detail">
          <ProblemList problems={judged.problemsOf(frame)} />
          <Body text={frame.text} />
        </div>
      )}
    </>
  );
}

function Body({ text }: { readonly text: string }) {
  const json = parsed(text);
  return (
    <div class="wire-body">
      <Copy text={text} label="Copy as it is" />
      {json === undefined ? <pre>{text.slice(0, 20_000)}</pre> : <JsonView value={json} open={9} />}
    </div>
  );
}
