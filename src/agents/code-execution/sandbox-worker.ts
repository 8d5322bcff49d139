/**
 * The worker thread of one sandbox, in which QuickJS, compiled to WebAssembly, runs the code. Only text
 * crosses the boundary: JSON of results and calls, and printed output. The main thread terminates the
 * worker if it exceeds its time limit.
 */
import { parentPort, workerData } from 'node:worker_threads';
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSDeferredPromise,
  type QuickJSHandle,
  type QuickJSRuntime,
} from 'quickjs-emscripten-core';
import type { SandboxAnswer, SandboxMessage, SandboxOutcome, SandboxRequest } from './sandbox.ts';

/** Maximum stack size in the sandbox, in bytes. */
const maxStackBytes = 512 * 1024;
/**
 * `JS_EVAL_FLAG_ASYNC`: a script with top-level `await`. It evaluates to a promise of `{ value }`, its
 * last expression.
 */
const asyncScript = 1 << 7;
/** `JS_EVAL_FLAG_COMPILE_ONLY`. */
const compileOnly = 1 << 5;
const pageBytes = 65_536;
/** Pages that QuickJS needs to start: 16 MiB. */
const initialPages = 256;
/** Maximum characters of the input of one call. */
const maxInputLength = 1_000_000;

/** Runs before the code, so the code cannot replace what it captures. */
const prelude = `((print, call, names) => {
  const { parse, stringify } = JSON;
  const show = (value) => {
    if (typeof value === 'string') return value;
    if (value instanceof Error) return String(value.stack ? value + '\\n' + value.stack : value);
    if (typeof value === 'object' && value !== null) {
      try { return stringify(value) } catch { return String(value) }
    }
    return String(value);
  };
  const log = (...values) => print(values.map(show).join(' '));
  globalThis.console = { log, info: log, warn: log, error: log, debug: log };
  for (const name of names) {
    globalThis[name] = (input = {}) => call(name, stringify(input));
  }
  return {
    toJson: (value) => stringify(value),
    parse,
    describe: (error) => {
      // QuickJS throws null where not even its error fits into the memory.
      if (error === null) return 'null was thrown: by the code, or because it ran out of memory';
      if (!(error instanceof Error)) return show(error);
      const stack = typeof error.stack === 'string' ? '\\n' + error.stack : '';
      return error.name + ': ' + error.message + stack;
    },
  };
})`;

class Sandbox {
  readonly #request: SandboxRequest;
  readonly #runtime: QuickJSRuntime;
  readonly #context: QuickJSContext;
  readonly #calls = new Map<number, QuickJSDeferredPromise>();
  /** The deadline of the code; the start of the sandbox does not count. */
  #deadline = Number.POSITIVE_INFINITY;
  #callCount = 0;
  #printed = 0;
  readonly #toJson: QuickJSHandle;
  readonly #parse: QuickJSHandle;
  readonly #describe: QuickJSHandle;

  constructor(request: SandboxRequest, runtime: QuickJSRuntime) {
    this.#request = request;
    this.#runtime = runtime;
    runtime.setMaxStackSize(maxStackBytes);
    runtime.setInterruptHandler(() => this.#isLate());
    this.#context = runtime.newContext();
    using helpers = this.#prepare();
    this.#toJson = this.#context.getProp(helpers, 'toJson');
    this.#parse = this.#context.getProp(helpers, 'parse');
    this.#describe = this.#context.getProp(helpers, 'describe');
  }

  /** Starts the code. Calls `settle` when the code has ended, which can be after its last call. */
  run(settle: (outcome: SandboxOutcome) => void): void {
    const { code, timeoutMs } = this.#request;
    this.#deadline = performance.now() + timeoutMs;
    // The interrupt handler stops running code; this timer stops code that waits for a call.
    setTimeout(() => settle({ isLate: true }), timeoutMs);
    const context = this.#context;
    const succeed = (value: QuickJSHandle): void => settle(this.#succeeded(value));
    const problem = this.#compile(code, asyncScript);
    // A top-level `return` needs a function.
    const wrapped = `(async () => {${code}\n})()`;
    if (problem !== undefined && this.#compile(wrapped, 0) !== undefined)
      return settle(this.#failed(problem));
    const isScript = problem === undefined;
    const started = isScript
      ? context.evalCode(code, 'code.js', asyncScript)
      : context.evalCode(wrapped, 'code.js');
    if (started.error !== undefined) return settle(this.#failed(started.error));
    if (!isScript) return this.#follow(started.value, succeed, settle);
    // The last expression can be a promise.
    const onValue = (result: QuickJSHandle): void =>
      this.#follow(context.getProp(result, 'value'), succeed, settle);
    this.#follow(started.value, onValue, settle);
  }

  /** Compiles the code without running it; returns its syntax error, if any. */
  #compile(code: string, flags: number): QuickJSHandle | undefined {
    const { error } = this.#context.evalCode(code, 'code.js', flags | compileOnly);
    return error;
  }

  /** Handles the result of a call from the main thread. */
  answer({ id, value, error }: SandboxAnswer): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    this.#calls.delete(id);
    const context = this.#context;
    if (error !== undefined) {
      using handle = context.newError(error);
      call.reject(handle);
    } else {
      using json = context.newString(value ?? 'null');
      const parsed = context.callFunction(this.#parse, context.undefined, json);
      if (parsed.error !== undefined) call.reject(parsed.error);
      else call.resolve(parsed.value);
      parsed.dispose();
    }
    this.#resume();
  }

  #resume: () => void = () => {};

  /** Runs pending jobs until a promise of the code is settled; `onValue` gets its value. */
  #follow(
    value: QuickJSHandle,
    onValue: (value: QuickJSHandle) => void,
    settle: (outcome: SandboxOutcome) => void,
  ): void {
    const context = this.#context;
    const step = (): void => {
      const jobs = this.#runtime.executePendingJobs();
      if (jobs.error !== undefined) {
        settle(this.#failed(jobs.error));
        return;
      }
      const state = context.getPromiseState(value);
      if (state.type === 'fulfilled') onValue(state.value);
      else if (state.type === 'rejected') settle(this.#failed(state.error));
      else if (this.#calls.size === 0)
        settle({ error: 'the code waits for a promise that nothing settles' });
    };
    this.#resume = step;
    step();
  }

  #prepare(): QuickJSHandle {
    const context = this.#context;
    using print = context.newFunction('print', (text) => {
      this.#print(text);
    });
    using call = context.newFunction('call', (name, input) => this.#call(name, input));
    using names = context.newArray();
    this.#request.functions.forEach((name, at) => {
      using text = context.newString(name);
      context.setProp(names, at, text);
    });
    using install = context.unwrapResult(context.evalCode(prelude, 'prelude.js'));
    return context.unwrapResult(
      context.callFunction(install, context.undefined, print, call, names),
    );
  }

  /** Sent immediately, so that the output is kept if the thread is terminated. */
  #print(text: QuickJSHandle): void {
    const { maxOutputLength } = this.#request;
    if (this.#printed > maxOutputLength) return;
    const line = `${this.#printed === 0 ? '' : '\n'}${this.#context.getString(text)}`;
    const rest = maxOutputLength - this.#printed;
    this.#printed += line.length;
    post({ type: 'print', text: line.slice(0, rest), isCut: line.length > rest });
  }

  #call(name: QuickJSHandle, input: QuickJSHandle): QuickJSHandle {
    const context = this.#context;
    const { maxCalls } = this.#request;
    this.#callCount += 1;
    const promise = context.newPromise();
    const json = context.typeof(input) === 'string' ? context.getString(input) : 'null';
    const refusal =
      this.#callCount > maxCalls
        ? `the code may call functions ${maxCalls} times`
        : json.length > maxInputLength
          ? `the input has more than ${maxInputLength} characters`
          : undefined;
    if (refusal === undefined) {
      const id = this.#callCount;
      this.#calls.set(id, promise);
      post({ type: 'call', id, name: context.getString(name), input: json });
    } else {
      using error = context.newError(refusal);
      promise.reject(error);
    }
    return promise.handle;
  }

  #succeeded(value: QuickJSHandle): SandboxOutcome {
    const context = this.#context;
    if (context.typeof(value) === 'undefined') return {};
    const json = context.callFunction(this.#toJson, context.undefined, value);
    if (json.error !== undefined) return this.#failed(json.error);
    using text = json.value;
    if (context.typeof(text) !== 'string') return {};
    return this.#bounded(context.getString(text));
  }

  #failed(error: QuickJSHandle): SandboxOutcome {
    const words = this.#isLate() ? '' : this.#words(error);
    if (this.#isLate()) return { isLate: true };
    return { error: words.slice(0, this.#request.maxOutputLength) };
  }

  #isLate(): boolean {
    return performance.now() > this.#deadline;
  }

  #bounded(result: string): SandboxOutcome {
    const { maxOutputLength } = this.#request;
    if (result.length <= maxOutputLength) return { result };
    const length = `the result has ${result.length} characters as JSON; at most ${maxOutputLength} are allowed`;
    return { error: `${length}: return less. It starts with ${result.slice(0, 200)}` };
  }

  /** Describes a thrown value, which can be anything: its getters run in the sandbox, within its limits. */
  #words(error: QuickJSHandle): string {
    const context = this.#context;
    const described = context.callFunction(this.#describe, context.undefined, error);
    if (described.error === undefined) {
      using text = described.value;
      return context.getString(text);
    }
    described.error.dispose();
    return 'the code threw a value that cannot be shown, or ran out of memory';
  }
}

/**
 * Creates the memory of the sandbox, which includes QuickJS itself. The memory limit of QuickJS is not
 * enough: in WebAssembly it counts blocks instead of bytes, so code could fill 2 GiB.
 */
function memoryOf(bytes: number): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: initialPages, maximum: Math.ceil(bytes / pageBytes) });
}

function post(message: SandboxMessage): void {
  parentPort?.postMessage(message);
}

const request: SandboxRequest = workerData;
const { default: exported } = await import('@jitl/quickjs-ng-wasmfile-release-sync');
// The types of the package describe its CommonJS build, whose default export is one level deeper.
const variant = 'default' in exported ? exported.default : exported;
const quickjs = await newQuickJSWASMModuleFromVariant(
  newVariant(variant, { wasmMemory: memoryOf(request.memoryBytes) }),
);
const sandbox = new Sandbox(request, quickjs.newRuntime());
parentPort?.on('message', (answer: SandboxAnswer) => sandbox.answer(answer));
post({ type: 'start' });
sandbox.run((outcome) => {
  post({ type: 'end', ...outcome });
  // The rest of the sandbox is freed with the thread.
  parentPort?.close();
});
