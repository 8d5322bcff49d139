import { useState } from 'preact/hooks';
import { loadAbout } from '../api/about.ts';
import { type Credential, credential, refusal } from '../api/api.ts';
import { Button } from '../ui/button.tsx';
import { ChoiceField, TextField } from '../ui/field.tsx';
import { Icon } from '../ui/icon.tsx';
import { Notice } from '../ui/notice.tsx';

/** Asks the operator for a credential, of the kinds that the server accepts. */
export function Access() {
  const [kind, setKind] = useState<Credential['kind']>('bearer');
  const [name, setName] = useState('X-API-Key');
  const [value, setValue] = useState('');
  const submit = (event: Event): void => {
    event.preventDefault();
    credential.value = kind === 'header' ? { kind, name, value } : { kind, value };
    void loadAbout();
  };
  return (
    <main class="access" id="main">
      <form class="card access-form" onSubmit={submit}>
        <div class="access-mark">
          <Icon name="lock" />
        </div>
        <h1>This inspector is for operators</h1>
        <p class="soft">
          Open the link that the server printed when it started. It ends in{' '}
          <code>/inspect/?token=…</code>. In code, the link is <code>server.inspectorUrl</code>.
        </p>
        <p class="soft">
          Or enter the token of the link, or a credential of an operator. It stays in this page and
          is forgotten when you close it.
        </p>
        {credential.value !== undefined && <Notice tone="bad">{refusal.value}</Notice>}
        <ChoiceField
          label="Credential"
          value={kind}
          onChange={setKind}
          choices={[
            ['bearer', 'Token of the link, or bearer token'],
            ['header', 'API key'],
            ['token', 'Token of the HTTP API'],
          ]}
        />
        {kind === 'header' && <TextField label="Header" value={name} onChange={setName} isMono />}
        <TextField label="Secret" type="password" value={value} onChange={setValue} isMono />
        <Button kind="primary" type="submit" disabled={value === ''}>
          Open inspector
        </Button>
      </form>
    </main>
  );
}
