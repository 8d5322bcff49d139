export { grpcBinding, type GrpcBindingOptions, type GrpcTls } from './client/grpc-binding.ts';
export { type GrpcDoor, type GrpcLimits, type GrpcOptions, openGrpc } from './open-grpc.ts';
export { serveGrpc, type ServeGrpcOptions } from './serve-grpc.ts';
