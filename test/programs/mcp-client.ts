import { llmAgent, mcpTools, serve } from '../../src/index.ts';

const greeter = mcpTools({ name: 'greeter', url: process.env['MCP'] ?? 'http://localhost/mcp' });
const clerk = llmAgent({ name: 'clerk', model: 'ollama/qwen3', tools: [greeter] });
export const server = await serve(clerk);
