import { agent, serve, textOf } from '../../src/index.ts';

const greeter = agent({ name: 'greeter' }, (turn) => `Hello, ${textOf(turn.message)}!`);
export const server = await serve(greeter);
