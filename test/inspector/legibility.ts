import type { Page } from 'playwright-core';

/** Texts that are hard to read against what is behind them (WCAG 2.2, 1.4.3). */
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

/** Controls without a name for screen readers (4.1.2), and ids that are not unique. */
export function nameless(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const controls = document.querySelectorAll<HTMLElement>(
      'button, a[href], input, select, textarea, [role=listbox], [role=slider], [tabindex="0"]',
    );
    const found = [...controls]
      .filter((control) => {
        const labels = control instanceof HTMLInputElement ? control.labels : null;
        const label =
          control.getAttribute('aria-label') ??
          control.getAttribute('aria-labelledby') ??
          control.closest('label')?.textContent ??
          labels?.[0]?.textContent ??
          document.querySelector(`label[for="${control.id}"]`)?.textContent ??
          control.textContent;
        return (label ?? '').trim() === '';
      })
      .map((control) => control.outerHTML.slice(0, 120));
    const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
    return [...found, ...ids.filter((id, index) => ids.indexOf(id) !== index)];
  });
}

/** Headings that skip a level: screen readers navigate by them (1.3.1). */
export function skippedHeadings(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    let before = 0;
    const found: string[] = [];
    for (const heading of document.querySelectorAll('h1, h2, h3, h4, h5, h6, [role=heading]')) {
      const level = Number(heading.getAttribute('aria-level') ?? heading.tagName.slice(1));
      if (level > before + 1) found.push(`h${level} after h${before}: ${heading.textContent}`);
      before = level;
    }
    return found;
  });
}
