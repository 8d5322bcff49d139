import { agent, serve, textOf } from '../../src/index.ts';

const options = { name: 'greeter', description: 'Greets people.' };
const greeter = agent(options, (turn) => `Hello, ${textOf(turn.message)}!`);
export const server = await serve(greeter, { mcp: true });
