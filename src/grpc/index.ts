export { grpcBinding, type GrpcBindingOptions, type GrpcTls } from './client/grpc-binding.ts';
export { grpcChannel, type GrpcServer, serveGrpc, type ServeGrpcOptions } from './serve-grpc.ts';
