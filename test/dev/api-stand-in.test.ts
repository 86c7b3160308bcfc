import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { apiReady, registerApi } from "../../src/dev/api-stand-in/registration.ts";
import { sunDay } from "../../src/dev/api-stand-in/sun.ts";
import { openCustomTools, type OpenCustomTools } from "../../src/gateway/custom-tools.ts";
import { createLogger } from "../../src/log.ts";
import { firstLine, stopChild } from "../support/child.ts";

/** Registration of the stand-in by `npm start`, tested through the code of custom tools. */

const folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-stand-in-"));
const main = fileURLToPath(new URL("../../src/dev/api-stand-in/main.ts", import.meta.url));
let child: ChildProcess;
let opened: OpenCustomTools;

beforeAll(async () => {
  child = spawn(process.execPath, [main]);
  const environment = registerApi(folder, apiReady.parse(JSON.parse(await firstLine(child))));
  opened = await openCustomTools(readConfig(environment), createLogger("silent", { secrets: [] }));
});
afterAll(async () => {
  await opened?.close();
  await stopChild(child, "SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

describe("the API stand-in", () => {
  it("charges per day, returns times to holders of its key and describes itself", async () => {
    const [tool] = opened.tools;
    expect(tool).toMatchObject({ name: "sun_times", status: "active", billable: true });
    expect(tool?.description).toContain("stand-in for a third-party API");
    const prepared = tool?.prepare({ date: "2024-06-20", latitude: 51.4779, longitude: 0, days: 2 });
    expect(prepared?.price).toBe(200n);
    const caller = { accountId: "a", keyId: "k", scopes: new Set(), operator: false } as never;
    const result = await prepared?.run({
      caller,
      runId: "run_1",
      idempotencyKey: "claim_1",
      signal: new AbortController().signal,
    });
    expect(result).toEqual({
      days: [
        { date: "2024-06-20", sunrise: "2024-06-20T03:42Z", sunset: "2024-06-20T20:21Z", day_minutes: 998 },
        { date: "2024-06-21", sunrise: "2024-06-21T03:43Z", sunset: "2024-06-21T20:21Z", day_minutes: 998 },
      ],
      provided_by: "Toolgate's local stand-in for a third-party API",
    });
    expect(() => tool?.prepare({ date: "soon", latitude: 91, longitude: 0 })).toThrow(
      "params.date: must have the format date; params.latitude: must be at most 90",
    );
  });

  it("refuses requests without its key", async () => {
    expect((await fetch(`${serverUrl()}/v1/sun/2024-06-20?latitude=1&longitude=1`)).status).toBe(401);
  });

  // Almanacs of the day: Greenwich and New York; Tromsø has neither night nor day at its solstices.
  it.each([
    ["2024-06-20", 51.4779, 0, "03:43", "20:21"],
    ["2024-03-20", 40.7128, -74.006, "10:59", "23:08"],
    ["2024-12-21", 69.65, 18.96, undefined, undefined],
    ["2024-06-21", 69.65, 18.96, undefined, undefined],
  ])("computes the sun on %s at %s, %s to two minutes", (date, latitude, longitude, sunrise, sunset) => {
    const day = sunDay(Date.parse(date), latitude, longitude);
    if (sunrise === undefined || sunset === undefined) {
      expect([day.sunrise, day.sunset, day.day_minutes]).toEqual([
        null,
        null,
        date === "2024-06-21" ? 1_440 : 0,
      ]);
      return;
    }
    for (const [reported, known] of [
      [day.sunrise, sunrise],
      [day.sunset, sunset],
    ])
      expect(Math.abs(Date.parse(reported ?? "") - Date.parse(`${date}T${known}Z`))).toBeLessThanOrEqual(
        120_000,
      );
  });
});

/** The stand-in's address from its registration. */
function serverUrl(): string {
  const [tool] = readConfig({
    TOOLGATE_CONFIG: path.join(folder, "tools.json"),
    TOOL_SUN_API_KEY: "of another",
  }).tools;
  if (tool?.target.kind !== "http") throw new Error("is registered over HTTP");
  return tool.target.section.server_url ?? "";
}
