/** The pages of the documentation site, in the order of its sidebar. `test/docs/site.test.ts` finds missing ones. */

export interface PageGroup {
  readonly text: string;
  readonly pages: readonly (readonly [title: string, file: string])[];
}

/** Files from the root of the repository. */
export const groups: readonly PageGroup[] = [
  {
    text: 'Start',
    pages: [
      ['Overview', 'README.md'],
      ['Concepts', 'docs/concepts.md'],
      ['Tutorial: an assistant', 'docs/tutorial.md'],
    ],
  },
  {
    text: 'Agents in code',
    pages: [
      ['Serve an agent', 'docs/guides/serve-an-agent.md'],
      ['Agents with a language model', 'docs/guides/llm-agents.md'],
      ['Tools and confirmations', 'docs/guides/tools.md'],
      ['Workflows', 'docs/guides/workflows.md'],
      ['Models', 'docs/guides/models.md'],
      ['Memory', 'docs/guides/memory.md'],
      ['Code execution', 'docs/guides/code-execution.md'],
      ['Evaluation', 'docs/guides/evaluate.md'],
      ['MCP', 'docs/guides/mcp.md'],
      ['Call an agent', 'docs/guides/call-an-agent.md'],
      ['In your framework', 'docs/guides/in-your-framework.md'],
    ],
  },
  {
    text: 'Assistants',
    pages: [
      ['Assistants', 'docs/guides/assistant.md'],
      ['Sub agents', 'docs/guides/sub-agents.md'],
      ['Understanding without a model', 'docs/guides/matching-generator.md'],
      ['Search in documents', 'docs/guides/search.md'],
      ['Testing', 'docs/guides/test-it.md'],
    ],
  },
  {
    text: 'Operate',
    pages: [
      ['Deployment', 'docs/deploy.md'],
      ['A whole system', 'docs/guides/whole-system.md'],
      ['Security', 'docs/guides/secure-it.md'],
      ['Scale out', 'docs/guides/scale-out.md'],
      ['Agents on RabbitMQ', 'docs/guides/bus.md'],
      ['Operate RabbitMQ', 'docs/guides/operate-rabbitmq.md'],
      ['RockBot', 'docs/guides/rockbot.md'],
      ['The inspector', 'docs/guides/inspector.md'],
      ['Threat model', 'docs/security.md'],
    ],
  },
  {
    text: 'Migrate',
    pages: [
      ['From Rasa', 'docs/guides/from-rasa.md'],
      ['From ADK', 'docs/guides/from-adk.md'],
      ['From the AI SDK', 'docs/guides/from-ai-sdk.md'],
      ['From LangGraph', 'docs/guides/from-langgraph.md'],
      ['From the official SDK', 'docs/guides/from-a2a-sdk.md'],
    ],
  },
  {
    text: 'Reference',
    pages: [
      ['API', 'docs/reference/api.md'],
      ['Configuration', 'docs/reference/configuration.md'],
      ['Commands', 'docs/reference/cli.md'],
      ['Errors', 'docs/reference/errors.md'],
      ['Events', 'docs/reference/events.md'],
      ['Telemetry', 'docs/reference/telemetry.md'],
      ['Checks', 'docs/reference/checks.md'],
      ['Keys of Rasa projects', 'docs/reference/rasa-keys.md'],
    ],
  },
  {
    text: 'Project',
    pages: [
      ['Architecture', 'ARCHITECTURE.md'],
      ['Conformance of agents', 'docs/conformance.md'],
      ['Conformance of the command line', 'docs/cli-conformance.md'],
      ['Contributing', 'CONTRIBUTING.md'],
      ['Reporting vulnerabilities', 'SECURITY.md'],
      ['Code of conduct', 'CODE_OF_CONDUCT.md'],
      ['Changelog', 'CHANGELOG.md'],
    ],
  },
];

/** What a program imports for a module of the package. @example entryName('client') // 'legate/client' */
export function entryName(module: string): string {
  return module === 'index' || module === 'legate' ? 'legate' : `legate/${module}`;
}
