import { Command } from 'commander';
import { type LogLevel, logLevelOption, type PlaceOptions } from './options.ts';

export interface TestCommandOptions extends PlaceOptions {
  readonly project?: string;
  readonly model?: string;
  readonly failFast?: boolean;
  readonly outputResults?: string;
  readonly failedResults?: string;
  readonly junit?: string;
  readonly coverageReport?: boolean;
  readonly coverageOutputPath?: string;
  readonly logLevel: LogLevel;
}

export function testCommand(): Command {
  return new Command('test')
    .addCommand(endToEnd())
    .addHelpText('after', '\nExample:\n  legate test e2e examples/bank/tests');
}

function endToEnd(): Command {
  return new Command('e2e')
    .description('run end-to-end conversation tests')
    .argument('[path]', 'test file or folder; file::name for one test', 'tests')
    .option('--project <folder>', 'project folder (default: found from the path)')
    .option('-m, --model <file>', 'packed model, or a folder whose newest model is used')
    .option('--config <file>', 'configuration file (default: config.yml)')
    .option('--domain <path>', 'domain file or folder (default: domain.yml and domain/)')
    .option('--data <path...>', 'files or folders with flows (default: data/)')
    .option('--endpoints <file>', 'endpoints file (default: endpoints.yml)')
    .option('--credentials <file>', 'credentials file (default: credentials.yml)')
    .option('--sub-agents <folder>', 'folder of sub agents (default: sub_agents/)')
    .option('--fail-fast', 'stop at the first failure')
    .option('-o, --output-results <folder>', 'write passed.yml and failed.yml')
    .option('-f, --failed-results <file>', 'write the failed tests with their reasons')
    .option('--junit <file>', 'write a JUnit report')
    .option('--coverage-report', 'print which flow steps were covered')
    .option('--coverage-output-path <folder>', 'write the coverage as CSV')
    .addOption(logLevelOption('error'))
    .addHelpText(
      'after',
      `
Exits with 1 if a test fails.

Examples:
  legate test e2e                                       tests/ of the project in this folder
  legate test e2e examples/bank/tests --coverage-report
  legate test e2e "tests/transfers.yml::cancel a transfer" --fail-fast`,
    )
    .action(async (path: string, options: TestCommandOptions) => {
      const { testEndToEnd } = await import('../test-e2e.ts');
      await testEndToEnd(path, options);
    });
}
