export { type CardOptions, cardOf, Cards } from './cards.ts';
export { createHandler, type Handler } from './handler.ts';
export {
  type Router,
  router,
  type RouterOptions,
  serve,
  type ServeOptions,
  type Serving,
} from './serve.ts';
export { defaultLimits, type HttpLimits, type Service } from './service.ts';
