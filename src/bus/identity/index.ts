export { selfAsserted } from './verifier.ts';
export type { SignedMessage } from './signer.ts';
export { MessageSigner, type MessageSignerOptions, type Principal } from './signer.ts';
export { MessageVerifier, type MessageVerifierOptions, type TrustedIssuer } from './verifier.ts';
export { type BusIdentity, readBusIdentity } from './read-identity.ts';
