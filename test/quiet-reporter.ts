import type { Reporter, TestModule, TestRunEndReason, Vitest } from 'vitest/node';

/** Quiet when green: names what failed and why tests were skipped, and closes with `N passed, N failed`. */
export default class QuietReporter implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly unknown[],
    _reason: TestRunEndReason,
  ): void {
    let passed = 0;
    let failed = 0;
    let skipped = 0;
    const lines: string[] = [];
    const notes = new Map<string, number>();
    for (const module of modules) {
      for (const error of module.errors()) {
        failed += 1;
        lines.push(`${module.relativeModuleId}\n${error.stack ?? error.message}`);
      }
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === 'passed') passed += 1;
        else if (result.state === 'skipped') {
          skipped += 1;
          const { note } = result;
          if (note !== undefined) notes.set(note, (notes.get(note) ?? 0) + 1);
        } else {
          failed += 1;
          const reasons = (result.errors ?? []).map(
            (error) => `${error.stack ?? error.message}${error.diff ? `\n${error.diff}` : ''}`,
          );
          lines.push(`${module.relativeModuleId} > ${test.fullName}\n${reasons.join('\n')}`);
        }
      }
    }
    for (const error of errors) {
      failed += 1;
      lines.push(error instanceof Error ? (error.stack ?? error.message) : JSON.stringify(error));
    }
    for (const line of lines) this.#vitest?.logger.log(`\nFAILED ${line}`);
    for (const [note, count] of notes) this.#vitest?.logger.log(`skipped ${count}: ${note}`);
    const tail = skipped > 0 ? `, ${skipped} skipped` : '';
    this.#vitest?.logger.log(`${passed} passed, ${failed} failed${tail}`);
  }
}
