export { type CardOptions, cardOf, Cards } from './cards.ts';
export { createHandler, type Handler } from './handler.ts';
export { type PushOptions, PushService } from './push-service.ts';
export { type Router, router, type RouterOptions } from './router.ts';
export { serve, type ServeOptions, type Serving } from './serve.ts';
export type { TlsFiles } from './tls.ts';
export { defaultLimits, type HttpLimits, type Service } from './service.ts';
