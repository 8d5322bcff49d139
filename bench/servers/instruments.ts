import { answerQuestions } from '../ipc.ts';
import type { Usage } from '../protocol.ts';

/** Measures its own process. */
export class Instruments {
  #turns = 0;
  #lastTurnMs = 0;
  #peakRss = 0;

  /** Reports the server's port to the main process, and answers its requests from then on. */
  report(port: number): void {
    setInterval(() => this.#sample(), 100).unref();
    answerQuestions<unknown, Usage>(async () => this.#usage(), { port });
  }

  /** Call it when a turn starts; call the returned function when the turn has ended. */
  turn(): () => void {
    const start = performance.now();
    return () => {
      this.#turns += 1;
      this.#lastTurnMs = performance.now() - start;
    };
  }

  #sample(): number {
    const rss = process.memoryUsage.rss();
    this.#peakRss = Math.max(this.#peakRss, rss);
    return rss;
  }

  #usage(): Usage {
    const { user, system } = process.cpuUsage();
    const rss = this.#sample();
    const peakRss = this.#peakRss;
    this.#peakRss = rss;
    return {
      cpuMicros: user + system,
      rss,
      peakRss,
      turns: this.#turns,
      lastTurnMs: this.#lastTurnMs,
    };
  }
}
