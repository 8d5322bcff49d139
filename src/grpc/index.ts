export { type GrpcDoor, type GrpcLimits, type GrpcOptions, openGrpc } from './open-grpc.ts';
export { serveGrpc, type ServeGrpcOptions } from './serve-grpc.ts';
