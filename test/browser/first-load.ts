import { expect, test } from "vitest";
import type { ConsoleWorld } from "./console-world.ts";

/** What a first visit waits for. */
export function firstLoad(world: ConsoleWorld): void {
  test("shows the largest element of the sign-in page in the stored theme before its scripts run", async () => {
    const { page, context } = await world.browserFor({ colorScheme: "light" });
    await context.addInitScript('localStorage.setItem("toolgate-theme", "dark")');
    const released = Promise.withResolvers<void>();
    await page.route(/\/assets\/(?!theme-)[^/]*\.js$/, async (route) => {
      await released.promise;
      await route.continue();
    });
    await page.route(/theme-/, async (route) => {
      await route.continue();
    });
    await page.goto(`${world.consoleUrl}/`, { waitUntil: "commit" });
    await page.evaluate(PARSED_AND_SHOWN);
    expect(await page.evaluate("getComputedStyle(document.documentElement).colorScheme")).toBe("dark");
    const before = await page.evaluate(LARGEST);
    released.resolve();
    await page.waitForLoadState("networkidle");
    expect(await page.evaluate(LARGEST)).toBe(before);
  });
}

const PARSED_AND_SHOWN = `new Promise((resolve) => {
  const shown = () => requestAnimationFrame(() => requestAnimationFrame(resolve));
  if (document.readyState === "loading") document.addEventListener("readystatechange", shown, { once: true });
  else shown();
})`;

const LARGEST = `new Promise((resolve) =>
  new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime)).observe({
    type: "largest-contentful-paint",
    buffered: true,
  }))`;
