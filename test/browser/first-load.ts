import { expect, test } from "vitest";
import type { ConsoleWorld } from "./console-world.ts";

/** What a first visit waits for. */
export function firstLoad(world: ConsoleWorld): void {
  test("shows the largest element of the sign-in page before its scripts run", async () => {
    const { page } = await world.browserFor();
    const released = Promise.withResolvers<void>();
    await page.route(/\.js$/, async (route) => {
      await released.promise;
      await route.continue();
    });
    await page.goto(`${world.consoleUrl}/`, { waitUntil: "commit" });
    await page.waitForFunction(PARSED_AND_SHOWN);
    const before = await page.evaluate(LARGEST);
    released.resolve();
    await page.waitForLoadState("networkidle");
    expect(await page.evaluate(LARGEST)).toBe(before);
  });
}

const PARSED_AND_SHOWN = `document.readyState !== "loading" && new Promise((resolve) =>
  requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))`;

const LARGEST = `new Promise((resolve) =>
  new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime)).observe({
    type: "largest-contentful-paint",
    buffered: true,
  }))`;
