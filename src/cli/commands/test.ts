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
    .description('hold the conversations of test files and compare what comes of them')
    .argument('[path]', 'file or folder of tests; file::name for one of them', 'tests')
    .option('--project <folder>', 'folder of the project (default: found from the path)')
    .option('-m, --model <file>', 'a packed model, or the newest of a folder of them')
    .option('--config <file>', 'instead of config.yml')
    .option('--domain <path>', 'file or folder, instead of domain.yml and domain/')
    .option('--data <path...>', 'files or folders with flows, instead of data/')
    .option('--endpoints <file>', 'instead of endpoints.yml')
    .option('--credentials <file>', 'instead of credentials.yml')
    .option('--sub-agents <folder>', 'instead of sub_agents/')
    .option('--fail-fast', 'stop at the first failure')
    .option('-o, --output-results <folder>', 'write passed.yml and failed.yml')
    .option('-f, --failed-results <file>', 'write the tests that failed, and why')
    .option('--junit <file>', 'write a JUnit report')
    .option('--coverage-report', 'say which steps of which flows were reached')
    .option('--coverage-output-path <folder>', 'write the coverage as CSV')
    .addOption(logLevelOption('error'))
    .addHelpText(
      'after',
      `
The exit code is 1 when a test fails.

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
