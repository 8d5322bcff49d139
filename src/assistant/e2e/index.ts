export { checkNames } from './find-tests.ts';
export { coverageCsv, coverageTable, type FlowCoverage } from './coverage.ts';
export { findTests, type FoundTests } from './find-tests.ts';
export type { CaseResult, Check, CheckFailure, TestCase, UserStep } from './model.ts';
export { describeFailure, junitFile, place, resultsFile } from './report.ts';
export { runTests, type RunTestsOptions, type TestReport } from './run-tests.ts';
