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
