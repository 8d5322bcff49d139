import type { Caller } from '../agent.ts';

/**
 * The credential of a tool for its service. It is never stored, logged or sent to a caller.
 * @example const credential: Credential = { type: 'basic', username: 'reports', password };
 */
export type Credential =
  | { readonly type: 'bearer'; readonly token: string }
  | { readonly type: 'api-key'; readonly value: string }
  | { readonly type: 'basic'; readonly username: string; readonly password: string };

/**
 * A credential that a tool needs before it can run.
 * @example
 * const calendar: CredentialRequirement = {
 *   scheme: 'calendar',
 *   scopes: ['events.read'],
 *   authorizationUrl: 'https://calendar.example/consent',
 *   hint: 'To find a free hour, your calendar must be read.',
 * };
 */
export interface CredentialRequirement {
  /** The name of the credential at the provider. */
  readonly scheme: string;
  readonly scopes?: readonly string[];
  /** The URL where the caller can give consent. */
  readonly authorizationUrl?: string;
  /** Shown to the caller. */
  readonly hint?: string;
}

/**
 * A tool's request for a credential, on behalf of a caller.
 * @example
 * const placeOf = ({ caller, scheme, reference }: CredentialRequest) =>
 *   [caller.tenant, caller.subject, reference ?? scheme]; // look a reference up among those of the caller
 */
export interface CredentialRequest extends CredentialRequirement {
  readonly tool: string;
  readonly caller: Caller;
  readonly contextId: string;
  /**
   * The caller's answer to the request for consent: the name of a credential that is stored elsewhere,
   * never the secret.
   */
  readonly reference?: string;
  readonly signal: AbortSignal;
}

/**
 * Finds credentials: in configuration, a vault, or an earlier consent. If it returns undefined, the
 * caller is asked for consent.
 * @example
 * const fromVault: CredentialProvider = async ({ scheme, caller }) => {
 *   const token: string | undefined = await vault.read(caller.subject, scheme);
 *   return token === undefined ? undefined : { type: 'bearer', token };
 * };
 */
export type CredentialProvider = (
  request: CredentialRequest,
) => Credential | undefined | Promise<Credential | undefined>;
