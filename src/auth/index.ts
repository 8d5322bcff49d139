export { apiKeyVerifier, type ApiKeyVerifierOptions } from './api-key.ts';
export { type ApiKeyRecord, ApiKeys, type ApiKeysOptions } from './api-keys.ts';
export { AuthError, authHeaders, type AuthRequest, CredentialRefused } from './auth-request.ts';
export { Authenticator, type AuthenticatorOptions } from './authenticator.ts';
export { type BearerTokenOptions, bearerTokenVerifier } from './bearer-token.ts';
export { CallerLimits, type CallerLimitsOptions } from './caller-limits.ts';
export type { CardForm } from './card-forms.ts';
export {
  signCard,
  type SignCardOptions,
  type TrustedKeys,
  type VerifiedCard,
  verifyCard,
  type VerifyCardOptions,
} from './card-signature.ts';
export { type JwtAlgorithm, jwtAlgorithms, type JwtKeySource } from './jwt-keys.ts';
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
export { type MtlsOptions, mtlsVerifier, type TlsPeer, tlsPeer } from './mtls.ts';
export { ClusterRate, type ClusterRateOptions, overReplicas } from './rate-limit.ts';
export { allowedSkills, declareSkillScopes, neededScopes, type SkillScopes } from './scopes.ts';
export { isSameSecret } from './secrets.ts';
export type { Identity, Verifier } from './verifier.ts';
