import { useState } from 'preact/hooks';
import { type JsonValue, shortened, textOfValue } from '../../../src/protocol/index.ts';
import { parseJsonOr } from '../api/json.ts';
import { reasonOf } from '../api/api.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { CheckField } from '../ui/field.tsx';
import { Empty, Problem } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import type { ConversationTurn } from './conversation-turns.ts';

interface SlotsTabProps {
  readonly turns: readonly ConversationTurn[];
  readonly at: number;
  /** Sets a slot; absent if an earlier turn is shown. */
  readonly onSet?: (name: string, value: JsonValue) => Promise<void>;
}

/** The slots of the assistant with their origins, and its sub agents. */
export function SlotsTab({ turns, at, onSet }: SlotsTabProps) {
  const [isAll, setAll] = useState(false);
  const turn = turns[at];
  if (turn === undefined) {
    return (
      <Empty icon="braces" title="No slots yet">
        <p class="soft">Send a message: values that flows collect appear here.</p>
      </Empty>
    );
  }
  const past = turns.slice(0, at + 1);
  const changed = new Set(turn.changes.map(({ name }) => name));
  const everChanged = new Set(past.flatMap(({ changes }) => changes.map(({ name }) => name)));
  // Slots that this turn changed, then slots of the conversation, then initial values of the domain.
  const rank = (name: string): number =>
    Number(changed.has(name)) * 2 + Number(everChanged.has(name));
  const names = Object.keys(turn.slots)
    .filter((name) => isAll || changed.has(name) || (turn.slots[name] ?? null) !== null)
    .sort((one, two) => rank(two) - rank(one) || (one < two ? -1 : 1));
  return (
    <div class="slots-tab">
      <SubAgents turns={past} />
      <Table heads={['Slot', 'Value', 'History']}>
        {names.map((name) => (
          <tr key={name} class={changed.has(name) ? 'fresh' : ''}>
            <th scope="row">
              <code>{name}</code>
            </th>
            <td>
              <SlotValue
                name={name}
                value={turn.slots[name] ?? null}
                {...(onSet !== undefined && { onSet })}
              />
            </td>
            <td>
              <History name={name} turns={past} />
            </td>
          </tr>
        ))}
      </Table>
      {names.length === 0 && <p class="faint pad">No slot has a value.</p>}
      <div class="pad">
        <CheckField isChecked={isAll} onChange={setAll}>
          Show empty slots too
        </CheckField>
      </div>
    </div>
  );
}

interface SlotValueProps extends Pick<SlotsTabProps, 'onSet'> {
  readonly name: string;
  readonly value: JsonValue;
}

/** A slot value; editable only in the current state. */
function SlotValue({ name, value, onSet }: SlotValueProps) {
  const [draft, setDraft] = useState<string | undefined>(undefined);
  const [problem, setProblem] = useState('');
  if (draft === undefined || onSet === undefined) {
    return (
      <span class="slot-value">
        <Value value={value} />
        {onSet !== undefined && (
          <Button
            kind="quiet"
            icon="edit"
            label={`Edit ${name}`}
            onClick={() => setDraft(value === null ? '' : textOfValue(value))}
          />
        )}
      </span>
    );
  }
  const close = (): void => {
    setDraft(undefined);
    setProblem('');
  };
  const save = (event: Event): void => {
    event.preventDefault();
    onSet(name, valueOf(draft)).then(close, (error: unknown) => setProblem(reasonOf(error)));
  };
  return (
    <form class="slot-form" onSubmit={save}>
      <input
        class="input mono"
        aria-label={`Value of ${name}`}
        placeholder="empty: no value"
        value={draft}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') close();
        }}
      />
      <Button kind="primary" icon="check" label="Set" type="submit" />
      <Button kind="quiet" icon="close" label="Cancel" onClick={close} />
      <Problem text={problem} />
    </form>
  );
}

/** Valid JSON is sent as JSON, other input as text; the domain determines the type of the slot. */
function valueOf(draft: string): JsonValue {
  return draft.trim() === '' ? null : parseJsonOr(draft, draft);
}

function Value({ value }: { readonly value: JsonValue }) {
  if (value === null) return <span class="faint">none</span>;
  const text = textOfValue(value);
  return <code title={text}>{shortened(text, 80)}</code>;
}

interface HistoryProps {
  readonly name: string;
  readonly turns: readonly ConversationTurn[];
}

function History({ name, turns }: HistoryProps) {
  const changes = turns.flatMap(({ number, changes: all }) =>
    all.filter((change) => change.name === name).map((change) => ({ ...change, number })),
  );
  // Validation sets a valid value a second time.
  const distinct = changes.filter(
    ({ value }, index) => JSON.stringify(value) !== JSON.stringify(changes[index - 1]?.value),
  );
  if (changes.length === 0) return <span class="faint">initial value</span>;
  return (
    <ol class="history">
      {distinct.slice(-6).map((change, index) => (
        <li key={index}>
          <span class="faint">turn {change.number}</span> <Value value={change.value} />
          {change.filledBy !== undefined && <Badge>{change.filledBy}</Badge>}
          {change.isEdited === true && <Badge>edited</Badge>}
        </li>
      ))}
    </ol>
  );
}

/** The last known state of each sub agent. */
function SubAgents({ turns }: { readonly turns: readonly ConversationTurn[] }) {
  const last = new Map<string, string>();
  for (const event of turns.flatMap(({ events }) => events)) {
    const { event: kind, agent_id: id } = event;
    if (typeof id !== 'string' || typeof kind !== 'string' || !kind.startsWith('agent_')) continue;
    last.set(id, kind.slice('agent_'.length));
  }
  for (const { agentId, agentState } of turns.at(-1)?.stack ?? []) {
    if (agentId !== undefined) last.set(agentId, agentState ?? 'running');
  }
  if (last.size === 0) return null;
  return (
    <section class="sub-agents">
      <h3>Sub agents</h3>
      <ul>
        {Array.from(last, ([id, state]) => (
          <li key={id}>
            <code>{id}</code>
            <Badge tone={state === 'completed' ? 'good' : 'info'}>
              {state.replaceAll('_', ' ')}
            </Badge>
          </li>
        ))}
      </ul>
    </section>
  );
}
