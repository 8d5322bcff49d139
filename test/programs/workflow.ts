import { agent, parallel, sequential, serve, textOf } from '../../src/index.ts';

const trains = agent({ name: 'trains' }, (turn) => `Trains to ${textOf(turn.message)}`);
const hotels = agent({ name: 'hotels' }, (turn) => `Hotels in ${textOf(turn.message)}`);
const search = parallel({ name: 'search', branches: [trains, hotels] });
const summary = agent({ name: 'summary' }, (turn) => textOf(turn.message).toUpperCase());
const trip = sequential({ name: 'trip', steps: [search, summary] });
export const server = await serve(trip);
