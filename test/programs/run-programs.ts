/** Runs the programs of this folder in the working directory, and prints what came of each as JSON. */
import { connect } from '../../src/index.ts';
import { type Script, startScriptedModelServer } from '../../src/models/index.ts';

const answers: Script = ({ promptText, tools: [name = ''] }, index) => {
  if (index === 0) return { toolCalls: [{ name: 'rate', input: {} }] };
  if (index === 1) return { toolCalls: [{ name: 'pay', input: { to: 'Ada', amount: 94 } }] };
  if (index === 2) return 'Ada has her 94 francs.';
  if (index === 3) return { toolCalls: [{ name, input: { message: 'Bob' } }] };
  return promptText.includes('Hello, Bob!') ? 'Bob was greeted.' : promptText;
};
await using model = await startScriptedModelServer(answers);
const { fetch } = globalThis;
// Ollama, as the programs have it.
globalThis.fetch = (input, init) =>
  fetch(new Request(input).url.replace('http://127.0.0.1:11434', new URL(model.url).origin), init);

const plain = await import('./plain-agent.ts');
process.env['GREETER'] = plain.server.url;
const { text: remote } = await import('./remote.ts');
const told: Record<string, string> = { 'plain-agent': await ask(plain.server.url, 'Ada'), remote };

const confirmation = await import('./confirmation.ts');
const asked = await (await connect(confirmation.server.url)).ask('Pay Ada 100 euros');
const paid = asked.isQuestion ? (await asked.answer('go ahead')).text : 'not asked';
told['confirmation'] = `${asked.text} | ${paid}`;

const workflow = await import('./workflow.ts');
told['workflow'] = await ask(workflow.server.url, 'Rome');

const mcp = await import('./mcp-server.ts');
process.env['MCP'] = `${mcp.server.url}/mcp`;
const client = await import('./mcp-client.ts');
told['mcp-client'] = await ask(client.server.url, 'Greet Bob');
told['mcp-server'] = told['mcp-client'];

console.log(JSON.stringify(told));
for (const { server } of [plain, confirmation, workflow, client, mcp]) await server.close();

async function ask(url: string, message: string): Promise<string> {
  return (await (await connect(url)).ask(message)).text;
}
