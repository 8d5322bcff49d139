import { useState } from 'preact/hooks';
import type { ReceivedCall } from '../../../src/http/inspector/model.ts';
import { LegateError, v03, v1 } from '../../../src/protocol/index.ts';
import { about } from '../api/about.ts';
import { remove } from '../api/api.ts';
import { useLive } from '../api/loaded.ts';
import { receiverAddress } from '../api/place.ts';
import { Badge } from '../ui/badge.tsx';
import type { Tone } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Id } from '../ui/copy.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Empty, Problem } from '../ui/notice.tsx';
import { timeOf } from '../ui/time.ts';
import { WindowedList } from '../ui/windowed-list.tsx';
import { HeaderList } from '../wire/exchange-view.tsx';
import { eventSummary } from '../wire/frame-summary.ts';
import { Mark, ProblemList } from '../wire/problem-list.tsx';
import { parsed, problemsOf } from '../wire/validate-frame.ts';

const signatures: Readonly<Record<ReceivedCall['signature'], readonly [Tone, string]>> = {
  none: ['neutral', 'not signed'],
  valid: ['good', 'signature holds'],
  invalid: ['bad', 'signature does not hold'],
  unknown: ['warn', 'signed by others'],
};

/** The built-in webhook receiver: register its URL anywhere, and see the calls that arrive. */
export function Receiver() {
  const {
    value = [],
    problem,
    reload,
  } = useLive<readonly ReceivedCall[]>('receiver', ({ receiver }) => receiver === true);
  const [selected, setSelected] = useState(-1);
  const calls = value.toReversed();
  const call = calls[selected];
  const clear = (): void => {
    void remove('receiver').then(reload);
  };
  return (
    <div class="receiver">
      <div class="receiver-head">
        <Id value={receiverAddress(about.value?.receiverKey ?? '')} label="address" />
        <Button kind="quiet" icon="trash" disabled={calls.length === 0} onClick={clear}>
          Clear
        </Button>
      </div>
      <Problem text={problem} />
      {calls.length === 0 ? (
        <Empty icon="push" title="Nothing arrived yet">
          <p class="soft">
            Register the address above as a webhook, or select the receiver in the “Agent” dialog.
          </p>
        </Empty>
      ) : (
        <div class="timeline-sides">
          <WindowedList
            label="Calls"
            count={calls.length}
            rowHeight={2.25}
            selected={selected}
            onSelect={setSelected}
            rowKey={(index) => calls[index]?.number ?? index}
            row={(index) => <CallRow call={calls[index]} />}
          />
          <div class="timeline-detail">
            {call === undefined ? (
              <p class="faint">Choose a call to look at.</p>
            ) : (
              <Call call={call} />
            )}
          </div>
        </div>
      )}
    </div>
  );
}

function CallRow({ call }: { readonly call: ReceivedCall | undefined }) {
  if (call === undefined) return null;
  const { problems, summary } = read(call);
  return (
    <span class="frame-row">
      <Mark isGood={problems.length === 0 && call.signature !== 'invalid'} />
      <span class="faint frame-number">{call.number}</span>
      <span class="frame-text">{summary}</span>
      <time class="faint">{timeOf(call.time)}</time>
    </span>
  );
}

function Call({ call }: { readonly call: ReceivedCall }) {
  const [tone, words] = signatures[call.signature];
  const json = parsed(call.body);
  return (
    <section>
      <h3>
        Call {call.number} <Badge tone={tone}>{words}</Badge>
      </h3>
      <ProblemList problems={read(call).problems} />
      <HeaderList headers={Object.entries(call.headers)} />
      {json === undefined ? <pre>{call.body}</pre> : <JsonView value={json} open={6} />}
    </section>
  );
}

/** 1.0 sends events, 0.3 whole tasks; the sender declares its version. */
function read(call: ReceivedCall): { problems: readonly string[]; summary: string } {
  const json = parsed(call.body);
  if (json === undefined) return { problems: ['is not JSON'], summary: call.body.slice(0, 80) };
  try {
    const isV1 = call.headers['a2a-version']?.startsWith('1') === true;
    const event = isV1 ? v1.streamResponse.decode(json) : { task: v03.task.decode(json) };
    const { kind, text } = eventSummary(event);
    return { problems: [], summary: `${kind}: ${text}` };
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
    return { problems: problemsOf(error), summary: call.body.slice(0, 80) };
  }
}
