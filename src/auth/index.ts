/**
 * Authentication of callers: keys, JWTs, client certificates, scopes, limits and signed cards.
 * @module
 */
export {
  type ApiKeyRecord,
  ApiKeys,
  type ApiKeysOptions,
  apiKeyVerifier,
  type ApiKeyVerifierOptions,
  type BearerTokenOptions,
  bearerTokenVerifier,
} from './api-keys.ts';
export {
  AuthError,
  authHeaders,
  bearerIn,
  type AuthRequest,
  CredentialRefused,
  type Identity,
  isSameSecret,
  type Verifier,
} from './credentials.ts';
export {
  type AuthSettings,
  openAuth,
  type OpenAuthOptions,
  readAuthSection,
} from './auth-section.ts';
export { Authenticator, authenticatorOption, type AuthenticatorOptions } from './authenticator.ts';
export {
  CallerLimits,
  callerLimitNames,
  type CallerLimitsOptions,
  ClusterRate,
  clusterRateNames,
  type ClusterRateOptions,
  overReplicas,
} from './caller-limits.ts';
export type { CardForm } from './card-forms.ts';
export {
  signCard,
  type SignCardOptions,
  type TrustedKeys,
  type VerifiedCard,
  verifyCard,
  type VerifyCardOptions,
} from './card-signature.ts';
export { CardSigner, type CardSigningKeys } from './card-signer.ts';
export { cardVerifier, type CardVerifierOptions } from './card-trust.ts';
export type { CardTrust, KeyAccess } from '../config/index.ts';
export { publicKeySource, type PublicKeySource } from './key-source.ts';
export type { JwtKeySource } from './jwt-keys.ts';
export { type JwtAlgorithm, jwtAlgorithms } from './public-keys.ts';
export { hasUsableExpiry, jwtVerifier, type JwtVerifierOptions } from './jwt.ts';
export {
  type BindOptions,
  checkBind,
  hostName,
  hostPort,
  isLocalName,
  isLocalOnly,
  isLocalRequest,
  isLoopbackHost,
  type RequestOrigin,
  type ServerAddress,
} from './local.ts';
export { type MtlsOptions, mtlsVerifier, tlsFacts, type TlsPeer, tlsPeer } from './mtls.ts';
export { allowedSkills, declareSkillScopes, neededScopes, type SkillScopes } from './scopes.ts';
