export { headerLines } from './header-lines.ts';
export type { HttpRequest, HttpResponse } from './message.ts';
export { PlainConnections } from './plain-connections.ts';
export { PlainRequest } from './plain-request.ts';
export { PlainResponse } from './plain-response.ts';
