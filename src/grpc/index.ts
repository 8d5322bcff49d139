export { grpcBinding, type GrpcBindingOptions, type GrpcTls } from './client/grpc-binding.ts';
export { type GrpcServer, serveGrpc, type ServeGrpcOptions } from './serve-grpc.ts';
