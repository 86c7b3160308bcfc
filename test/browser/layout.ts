import type { Page } from "playwright-core";

/** Returns the pixels by which the page or its widest table exceeds its place. */
export function overflow(page: Page): Promise<number> {
  return page
    .locator("html, .table-box")
    .evaluateAll((elements) =>
      Math.max(...elements.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)),
    );
}
