import { useState } from 'preact/hooks';
import type { CardCheckView } from '../../../src/http/inspector/model.ts';
import type { AgentCard, AgentSkill } from '../../../src/protocol/index.ts';
import { parseJsonOr } from '../api/json.ts';
import { post } from '../api/api.ts';
import { useLoaded } from '../api/resource.ts';
import { Badge } from '../ui/badge.tsx';
import { Button, Copyable } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Problem } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import { counted } from '../ui/text.ts';
import { checkCard, type CheckedCard } from './card-checks.ts';

/** A card: its content, its problems, and its signature. */
export function CardView({ json }: { readonly json: unknown }) {
  const checked = checkCard(json);
  const { card } = checked;
  return (
    <div class="card-view">
      {card !== undefined && <CardHead card={card} />}
      <Findings checked={checked} />
      <SignatureCheck json={json} />
      {card !== undefined && <Interfaces card={card} />}
      {card !== undefined && card.skills.length > 0 && <Skills skills={card.skills} />}
      <details class="section">
        <summary>Card as JSON</summary>
        <Copyable text={JSON.stringify(json, undefined, 2)} label="Copy the card">
          <JsonView value={json} />
        </Copyable>
      </details>
    </div>
  );
}

function CardHead({ card }: { readonly card: AgentCard }) {
  const { streaming, pushNotifications, extendedAgentCard } = card.capabilities;
  const schemes = Object.keys(card.securitySchemes ?? {});
  return (
    <header class="card-head">
      <h2>{card.name}</h2>
      <p class="faint card-version" title={card.version}>
        version {card.version}
      </p>
      <p class="soft">{card.description}</p>
      <p class="badges">
        {streaming === true && <Badge tone="good">streams</Badge>}
        {pushNotifications === true && <Badge tone="good">webhooks</Badge>}
        {extendedAgentCard === true && <Badge tone="info">extended card</Badge>}
        {schemes.map((name) => (
          <Badge key={name} tone="warn">
            {name}
          </Badge>
        ))}
        {card.provider !== undefined && <Badge>{card.provider.organization}</Badge>}
      </p>
      <p class="faint">
        in {card.defaultInputModes.join(', ')} · out {card.defaultOutputModes.join(', ')}
      </p>
    </header>
  );
}

function Findings({ checked: { findings } }: { readonly checked: CheckedCard }) {
  const errors = findings.filter(({ level }) => level === 'error').length;
  return (
    <section class="section">
      <h3>
        Validation{' '}
        <Badge tone={errors > 0 ? 'bad' : findings.length > 0 ? 'warn' : 'good'}>
          {errors > 0 ? counted(errors, 'error') : findings.length > 0 ? 'warnings only' : 'valid'}
        </Badge>
      </h3>
      {findings.length > 0 && (
        <ul class="findings">
          {findings.map(({ level, text }) => (
            <li key={text} class={level === 'error' ? 'bad' : 'warn'}>
              <Icon name="alert" /> <span>{text}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Interfaces({ card }: { readonly card: AgentCard }) {
  return (
    <section class="section">
      <h3>Interfaces</h3>
      <Table heads={['Binding', 'Version', 'Address']}>
        {card.supportedInterfaces.map(({ url, protocolBinding, protocolVersion, tenant }) => (
          <tr key={`${url} ${protocolBinding} ${protocolVersion} ${tenant ?? ''}`}>
            <td>{protocolBinding}</td>
            <td>{protocolVersion}</td>
            <td>
              <code>{url}</code>
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

const shownAtOnce = 8;

function Skills({ skills }: { readonly skills: readonly AgentSkill[] }) {
  const [isAll, setAll] = useState(false);
  const shown = isAll ? skills : skills.slice(0, shownAtOnce);
  return (
    <section class="section">
      <h3>
        Skills <span class="faint">{skills.length}</span>
      </h3>
      <ul class="skills">
        {shown.map(({ id, name, description, tags }) => (
          <li key={id}>
            <strong>{name}</strong> <code class="faint">{id}</code>
            <p class="soft">{description}</p>
            {tags.length > 0 && (
              <p class="badges">
                {tags.slice(0, 8).map((tag) => (
                  <Badge key={tag}>{tag}</Badge>
                ))}
              </p>
            )}
          </li>
        ))}
      </ul>
      {skills.length > shown.length && (
        <Button kind="quiet" onClick={() => setAll(true)}>
          Show all {skills.length}
        </Button>
      )}
    </section>
  );
}

/** Verifies the signature of a card with the available keys. */
function SignatureCheck({ json }: { readonly json: unknown }) {
  const [keys, setKeys] = useState('');
  const [given, setGiven] = useState<unknown>(undefined);
  const [isBad, setBad] = useState(false);
  const { value, problem } = useLoaded(
    () =>
      post<CardCheckView>('cards/check', {
        card: json,
        ...(given !== undefined && { jwks: given }),
      }),
    [json, given],
  );
  if (value === undefined) return <Problem text={problem} />;
  const check = (event: Event): void => {
    event.preventDefault();
    const read = parseJsonOr(keys, undefined);
    setBad(read === undefined);
    if (read !== undefined) setGiven(read);
  };
  return (
    <section class="section">
      <h3>
        Signature <Verdict check={value} />
      </h3>
      {value.verified !== undefined && (
        <p class="soft">
          By key <code>{value.verified.kid}</code>, over the card's {value.verified.form} form.
        </p>
      )}
      {value.signatures > 0 && value.verified === undefined && (
        <>
          <p class="soft">{value.problem}</p>
          <form class="inline-form" onSubmit={check}>
            <input
              class="input mono"
              aria-label="Public keys that you trust, as a JWK set"
              placeholder='{"keys": [ … ]}: public keys that you trust'
              value={keys}
              onInput={(event) => setKeys(event.currentTarget.value)}
            />
            <Button type="submit" disabled={keys.trim() === ''}>
              Check with these
            </Button>
          </form>
          {isBad && <p class="bad-text">This is not JSON.</p>}
        </>
      )}
    </section>
  );
}

function Verdict({ check }: { readonly check: CardCheckView }) {
  if (check.verified !== undefined) return <Badge tone="good">valid signature</Badge>;
  if (check.signatures === 0) return <Badge>not signed</Badge>;
  return <Badge tone="bad">no trusted key</Badge>;
}
