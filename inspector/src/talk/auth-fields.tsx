import { ChoiceField, TextField } from '../ui/field.tsx';
import type { Target } from './target.ts';

interface AuthFieldsProps {
  readonly target: Target;
  readonly onChange: (part: Partial<Target>) => void;
  /** The security schemes of the agent's card, once it is loaded. */
  readonly schemes: readonly string[];
}

/** The credentials for an agent. */
export function AuthFields({ target, onChange, schemes }: AuthFieldsProps) {
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
              label="Name of the key"
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
      {schemes.length > 0 && <p class="hint">The card asks for {schemes.join(', or ')}.</p>}
    </>
  );
}
