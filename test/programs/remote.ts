import { remoteAgent } from '../../src/index.ts';

const greeter = remoteAgent(process.env['GREETER'] ?? 'http://localhost:8000');
const answer = await greeter.ask('Ada');
export const { text } = answer;
