import type { BrowserContext, Page } from "playwright-core";

/** Returns the pixels by which the page or its widest table exceeds its place. */
export function overflow(page: Page): Promise<number> {
  return page
    .locator("html, .table-box")
    .evaluateAll((elements) =>
      Math.max(...elements.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)),
    );
}

const OBSERVER = `
  globalThis.layoutShift = 0;
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) layoutShift += value;
  }).observe({ type: "layout-shift", buffered: true });`;

/** Sums the layout shifts of every page of the context (Layout Instability API). */
export function observeLayoutShift(context: BrowserContext): Promise<unknown> {
  return context.addInitScript({ content: OBSERVER });
}

/** Returns the sum since the page was loaded or this was called, and starts again at 0. */
export async function takeLayoutShift(page: Page): Promise<number> {
  return Number(await page.evaluate("[layoutShift, (layoutShift = 0)][0]"));
}
