import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** Violations that axe finds in what the page shows, with the elements: of WCAG 2.2 and of good practice. */
export async function violations(page: Page): Promise<readonly string[]> {
  const isLoaded = await page.evaluate(() => 'axe' in globalThis);
  if (!isLoaded) {
    // By the debugger: the page's policy forbids all scripts but its own.
    const debuggerOf = await page.context().newCDPSession(page);
    await debuggerOf.send('Runtime.evaluate', { expression: axe.source });
    await debuggerOf.detach();
  }
  return page.evaluate(async () => {
    const { violations: found, passes } = await (
      globalThis as unknown as { axe: typeof axe }
    ).axe.run(document, { resultTypes: ['violations'] });
    if (passes.length < 5) return ['axe found nothing to check'];
    return found.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html }) => `${id} (${help}): ${html.slice(0, 160)}`),
    );
  });
}

/** Texts that are hard to read against what is behind them (WCAG 2.2, 1.4.3), in drawings too. */
export function faintTexts(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const parse = (colour: string): [number, number, number, number] => {
      const [red = 0, green = 0, blue = 0, alpha = 1] = (colour.match(/[\d.]+/g) ?? []).map(Number);
      return [red, green, blue, alpha];
    };
    const luminance = ([red, green, blue]: readonly number[]): number => {
      const [r = 0, g = 0, b = 0] = [red, green, blue].map((part) => {
        const value = (part ?? 0) / 255;
        return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const groundOf = (element: Element | null): number[] => {
      for (let at = element; at !== null; at = at.parentElement) {
        const box = at instanceof SVGGElement ? at.querySelector('rect') : null;
        const colour = parse(
          box === null ? getComputedStyle(at).backgroundColor : getComputedStyle(box).fill,
        );
        if (colour[3] > 0.99) return colour;
      }
      return [255, 255, 255];
    };
    const found: string[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const element = node.parentElement;
      const text = node.textContent?.trim() ?? '';
      if (element === null || text === '' || element.closest('.hidden-label, option, noscript')) {
        continue;
      }
      const area = element.getBoundingClientRect();
      if (area.width < 2 || area.height < 2) continue;
      const style = getComputedStyle(element);
      const isDrawn = element instanceof SVGElement;
      const [high = 0, low = 0] = [
        luminance(parse(isDrawn ? style.fill : style.color)),
        luminance(groundOf(element)),
      ].toSorted((one, other) => other - one);
      const ratio = (high + 0.05) / (low + 0.05);
      if (ratio < 4.5) found.push(`${text.slice(0, 40)}: ${ratio.toFixed(2)}`);
    }
    return found;
  });
}
