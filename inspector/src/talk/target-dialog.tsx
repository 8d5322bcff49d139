import { useState } from 'preact/hooks';
import { about } from '../api/about.ts';
import { receiverAddress } from '../api/place.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { ChoiceField, TextField } from '../ui/field.tsx';
import { Notice } from '../ui/notice.tsx';
import { Pairs } from '../ui/pairs.tsx';
import { AuthFields } from './auth-fields.tsx';
import { securityWords } from './security-words.ts';
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
  const { agents = [], hasProxy = false, hasPush = false, receiverKey = '' } = about.value ?? {};
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
      void talk.meet();
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
            ...agents.map(({ name, card }) => [name, `${card.name} (here)`] as const),
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
                The page calls it directly, so the agent must let pages of this origin call. Start
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
              ['auto', 'As the card offers'],
              ['1.0', 'A2A 1.0'],
              ['0.3', 'A2A 0.3'],
            ]}
          />
          <ChoiceField
            label="Binding"
            value={target.binding}
            onChange={(binding) => change({ binding })}
            choices={[
              ['auto', 'As the card offers'],
              ['JSONRPC', 'JSON-RPC'],
              ['HTTP+JSON', 'HTTP+JSON (REST)'],
            ]}
          />
          <ChoiceField
            label="Answers"
            value={sending.streams ? 'stream' : 'whole'}
            onChange={(how) => setSending({ ...sending, streams: how === 'stream' })}
            choices={[
              ['stream', 'As they come'],
              ['whole', 'When they are complete'],
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
          label="Extensions to ask for"
          hint="URIs, separated by spaces."
          value={target.extensions}
          onChange={(extensions) => change({ extensions })}
          isMono
        />
        <TextField
          label="Context to go on with"
          hint="The id of a conversation; empty for a new one."
          value={context}
          onChange={setContext}
          isMono
        />
        <label class="check">
          <input
            type="checkbox"
            checked={sending.pushUrl !== undefined}
            disabled={!canPush}
            onChange={(event) =>
              setSending({
                ...sending,
                pushUrl: event.currentTarget.checked ? receiverAddress(receiverKey) : undefined,
              })
            }
          />
          Have webhooks sent to the built-in receiver
        </label>
        {!canPush && <p class="hint">This server sends no webhooks: they are off.</p>}
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

function schemesOf(talk: TalkConversation, { url }: Target): readonly string[] {
  const isSame = talk.target.peek().url === url;
  return isSame ? securityWords(talk.card.value) : [];
}
