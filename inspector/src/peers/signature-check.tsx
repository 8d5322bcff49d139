import { useState } from 'preact/hooks';
import type { CardCheckView } from '../../../src/http/inspector/model.ts';
import { post } from '../api/api.ts';
import { useLoaded } from '../api/resource.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Notice } from '../ui/notice.tsx';
import { parsed } from '../wire/checks.ts';

/** Verifies the signature of a card with the available keys. */
export function SignatureCheck({ json }: { readonly json: unknown }) {
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
  if (value === undefined) return problem === '' ? null : <Notice tone="bad">{problem}</Notice>;
  const check = (event: Event): void => {
    event.preventDefault();
    const read = parsed(keys);
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
