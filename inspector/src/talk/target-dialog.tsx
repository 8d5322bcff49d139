import { useState } from 'preact/hooks';
import type { SecurityScheme } from '../../../src/protocol/index.ts';
import { about, receiverAddress } from '../api/about.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { CheckField, ChoiceField, Pairs, TextField } from '../ui/field.tsx';
import { Notice } from '../ui/notice.tsx';
import type { TalkConversation } from './talk-conversation.ts';
import type { Target } from './target.ts';

interface TargetDialogProps {
  readonly talk: TalkConversation;
  readonly onClose: () => void;
}

/** Selects the agent, and how to connect to it. */
export function TargetDialog({ talk, onClose }: TargetDialogProps) {
  const [target, setTarget] = useState<Target>(talk.target.peek());
  const [sending, setSending] = useState(talk.sending.peek());
  const [context, setContext] = useState(talk.contextId.peek() ?? '');
  const { agents = [], hasProxy = false, hasPush = false, hasGrpc = false } = about.value ?? {};
  const canPush = target.own === undefined || hasPush;
  const change = (part: Partial<Target>): void => setTarget({ ...target, ...part });
  // A context belongs to the agent that created it.
  const turnTo = (part: Partial<Target>): void => {
    change(part);
    setContext('');
  };
  const save = (event: Event): void => {
    event.preventDefault();
    talk.sending.value = canPush ? sending : { ...sending, pushUrl: undefined };
    if (JSON.stringify(target) !== JSON.stringify(talk.target.peek())) {
      talk.retarget(target);
      void talk.connect();
    }
    const wanted = context.trim() === '' ? undefined : context.trim();
    if (wanted !== talk.contextId.peek()) talk.restart(wanted);
    onClose();
  };
  return (
    <Dialog title="Agent" onClose={onClose}>
      <form class="form" onSubmit={save}>
        <ChoiceField
          label="Agent"
          value={target.own ?? ''}
          onChange={(own) => turnTo({ own: own === '' ? undefined : own })}
          choices={[
            ...agents.map(({ name, card }) => [name, `${card.name} (this server)`] as const),
            ['', 'Another agent, by its address'] as const,
          ]}
        />
        {target.own === undefined && (
          <>
            <TextField
              label="Address of the agent or of its card"
              type="url"
              value={target.url}
              onChange={(url) => turnTo({ url })}
              placeholder="https://agent.example"
              isMono
            />
            {!hasProxy && (
              <Notice tone="info">
                The page calls the agent directly, so the agent must allow this origin (CORS). Start
                the inspector with its proxy to reach any agent.
              </Notice>
            )}
          </>
        )}
        <div class="form-row">
          <ChoiceField
            label="Version"
            value={target.version}
            onChange={(version) => change({ version })}
            choices={[
              ['auto', 'From the card'],
              ['1.0', 'A2A 1.0'],
              ['0.3', 'A2A 0.3'],
            ]}
          />
          <ChoiceField
            label="Binding"
            value={target.binding}
            onChange={(binding) => change({ binding })}
            choices={[
              ['auto', 'From the card'],
              ['JSONRPC', 'JSON-RPC'],
              ['HTTP+JSON', 'HTTP+JSON (REST)'],
              ...(target.own === undefined && hasGrpc ? [['GRPC', 'gRPC'] as const] : []),
            ]}
          />
          <ChoiceField
            label="Responses"
            value={sending.streams ? 'stream' : 'whole'}
            onChange={(how) => setSending({ ...sending, streams: how === 'stream' })}
            choices={[
              ['stream', 'Streamed'],
              ['whole', 'When complete'],
            ]}
          />
        </div>
        {target.own === undefined && (
          <AuthFields target={target} onChange={change} schemes={schemesOf(talk, target)} />
        )}
        <Pairs
          label="Headers of every request"
          add="Add a header"
          pairs={target.headers}
          onChange={(headers) => change({ headers })}
        />
        <TextField
          label="Extensions to request"
          hint="URIs, separated by spaces."
          value={target.extensions}
          onChange={(extensions) => change({ extensions })}
          isMono
        />
        <TextField
          label="Context to continue"
          hint="The context id; empty for a new context."
          value={context}
          onChange={setContext}
          isMono
        />
        <CheckField
          isChecked={sending.pushUrl !== undefined}
          isDisabled={!canPush}
          onChange={(isOn) =>
            setSending({ ...sending, pushUrl: isOn ? receiverAddress() : undefined })
          }
        >
          Send webhooks to the built-in receiver
        </CheckField>
        {!canPush && <p class="hint">Webhooks are disabled on this server.</p>}
        <div class="form-end">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            type="submit"
            disabled={target.own === undefined && target.url.trim() === ''}
          >
            Connect
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** The security schemes of the connected agent, if the dialog still selects it. */
function schemesOf({ target, card }: TalkConversation, { url }: Target): readonly string[] {
  if (target.peek().url !== url) return [];
  return Object.values(card.value?.securitySchemes ?? {}).map(schemeName);
}

function schemeName(scheme: SecurityScheme): string {
  if ('apiKeySecurityScheme' in scheme) {
    const { name, location } = scheme.apiKeySecurityScheme;
    return `an API key, ${name} in the ${location}`;
  }
  if ('httpAuthSecurityScheme' in scheme) {
    const { scheme: name, bearerFormat } = scheme.httpAuthSecurityScheme;
    const format = bearerFormat === undefined ? '' : ` (${bearerFormat})`;
    return name.toLowerCase() === 'bearer' ? `a bearer token${format}` : `${name} authentication`;
  }
  if ('oauth2SecurityScheme' in scheme) return 'a bearer token of OAuth 2';
  if ('openIdConnectSecurityScheme' in scheme) return 'a bearer token of OpenID Connect';
  return 'a client certificate';
}

interface AuthFieldsProps {
  readonly target: Target;
  readonly onChange: (part: Partial<Target>) => void;
  /** The security schemes of the agent's card, once it is loaded. */
  readonly schemes: readonly string[];
}

/** The credentials for an agent. */
function AuthFields({ target, onChange, schemes }: AuthFieldsProps) {
  return (
    <>
      <div class="form-row">
        <ChoiceField
          label="Credential"
          value={target.auth}
          onChange={(auth) => onChange({ auth })}
          choices={[
            ['none', 'None'],
            ['bearer', 'Bearer token'],
            ['basic', 'User and password'],
            ['api-key', 'API key'],
          ]}
        />
        {target.auth === 'basic' && (
          <TextField label="User" value={target.user} onChange={(user) => onChange({ user })} />
        )}
        {target.auth === 'api-key' && (
          <>
            <TextField
              label="Key name"
              value={target.keyName}
              onChange={(keyName) => onChange({ keyName })}
              isMono
            />
            <ChoiceField
              label="Sent in"
              value={target.keyLocation}
              onChange={(keyLocation) => onChange({ keyLocation })}
              choices={[
                ['header', 'A header'],
                ['query', 'The query'],
              ]}
            />
          </>
        )}
        {target.auth !== 'none' && (
          <TextField
            label={target.auth === 'basic' ? 'Password' : 'Secret'}
            type="password"
            value={target.secret}
            onChange={(secret) => onChange({ secret })}
            isMono
          />
        )}
      </div>
      {schemes.length > 0 && <p class="hint">The card requires {schemes.join(', or ')}.</p>}
    </>
  );
}
