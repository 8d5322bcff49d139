import { useState } from 'preact/hooks';
import type { ReceivedCall } from '../../../src/http/inspector/model.ts';
import { v03, v1 } from '../../../src/protocol/index.ts';
import { parseJsonOr } from '../api/json.ts';
import { receiverAddress } from '../api/about.ts';
import { request } from '../api/api.ts';
import { useLive } from '../api/resource.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { Button, Id } from '../ui/button.tsx';
import { Empty, Problem } from '../ui/notice.tsx';
import { checkedBy } from '../wire/checks.ts';
import { EventList, eventSummary, type ListedEvent, ProblemList } from '../wire/event-list.tsx';
import { Body, HeaderList } from '../wire/wire-view.tsx';

const signatures: Readonly<Record<ReceivedCall['signature'], readonly [Tone, string]>> = {
  none: ['neutral', 'not signed'],
  valid: ['good', 'valid signature'],
  invalid: ['bad', 'invalid signature'],
  unknown: ['warn', 'signed with an unknown key'],
};

/** The built-in webhook receiver: register its URL anywhere, and see the calls that arrive. */
export function Receiver() {
  const { value, problem, reload } = useLive<readonly ReceivedCall[]>(
    'receiver',
    ({ receiver }) => receiver === true,
  );
  const [selected, setSelected] = useState(-1);
  const calls = (value ?? []).map((call) => ({ ...call, ...checkCall(call) })).toReversed();
  const call = calls[selected];
  const clear = (): void => {
    void request('receiver', { method: 'DELETE' }).then(reload);
  };
  return (
    <div class="receiver">
      <div class="receiver-head">
        <Id value={receiverAddress()} label="address" />
        <Button kind="quiet" icon="trash" disabled={calls.length === 0} onClick={clear}>
          Clear
        </Button>
      </div>
      <Problem text={problem} />
      {calls.length === 0 ? (
        <Empty icon="push" title="No calls yet">
          <p class="soft">
            Register the address above as a webhook, or select the receiver in the “Agent” dialog.
          </p>
        </Empty>
      ) : (
        <div class="timeline-sides">
          <EventList
            label="Calls"
            events={calls}
            count={calls.length}
            rowHeight={2.25}
            selected={selected}
            onSelect={setSelected}
          />
          <div class="timeline-detail">
            {call === undefined ? <p class="faint">Select a call.</p> : <Call call={call} />}
          </div>
        </div>
      )}
    </div>
  );
}

function Call({ call }: { readonly call: ReceivedCall & ListedEvent }) {
  const [tone, title] = signatures[call.signature];
  return (
    <section>
      <h2>
        Call {call.number} <Badge tone={tone}>{title}</Badge>
      </h2>
      <ProblemList problems={call.problems} />
      <HeaderList headers={Object.entries(call.headers)} />
      <Body text={call.body} />
    </section>
  );
}

/** Checks a call: 1.0 sends events, 0.3 whole tasks. The sender declares its version. */
function checkCall(call: ReceivedCall): Pick<ListedEvent, 'problems' | 'summary' | 'text'> {
  const json = parseJsonOr(call.body, undefined);
  const isV1 = call.headers['a2a-version']?.startsWith('1') === true;
  const { problems, event } =
    json === undefined
      ? { problems: ['is not JSON'] }
      : checkedBy(() => (isV1 ? v1.streamResponse.decode(json) : { task: v03.task.decode(json) }));
  return {
    problems: call.signature === 'invalid' ? [...problems, 'invalid signature'] : problems,
    summary: event === undefined ? undefined : eventSummary(event),
    text: call.body,
  };
}
