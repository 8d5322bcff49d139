import type { BuildOptions } from '../assistant/index.ts';
import { grpcBinding } from '../grpc/index.ts';

/** The bindings beside HTTP for calls to sub agents, limited by `outbound`. gRPC is loaded on the first call. */
export const callBindings: NonNullable<BuildOptions['bindings']> = (policy) => [
  grpcBinding({ policy }),
];
