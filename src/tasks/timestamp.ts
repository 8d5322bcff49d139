let lastTime = Number.NaN;
let lastText = '';

/** A time as the protocol writes it. Many events fall into one millisecond: the last text is kept. */
export function timestamp(time: number): string {
  if (time !== lastTime) {
    lastTime = time;
    lastText = new Date(time).toISOString();
  }
  return lastText;
}

/** The time that a timestamp stands for, in milliseconds; NaN for one that is none. */
export function timeOf(text: string): number {
  return text === lastText ? lastTime : Date.parse(text);
}
