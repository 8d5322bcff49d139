import type { BuildOptions } from '../assistant/index.ts';
import { grpcBinding } from '../grpc/index.ts';

/** How sub agents are called beside HTTP, within `outbound`. gRPC itself is loaded with the first call. */
export const callBindings: NonNullable<BuildOptions['bindings']> = (policy) => [
  grpcBinding({ policy }),
];
