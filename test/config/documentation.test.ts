import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { configFileSchema } from "../../src/config/config-file.ts";
import { readConfig } from "../../src/config/config.ts";
import { settings } from "../../src/config/settings.ts";

const page = readFileSync("docs/reference/configuration.md", "utf8");

describe("docs/reference/configuration.md", () => {
  it("docs/reference/configuration.md has a row for every setting, and no other", () => {
    const rows = [...page.matchAll(/^\| `([A-Z0-9_]+)` \|/gm)].map(([, name]) => name);
    expect(new Set(rows)).toEqual(new Set(Object.keys(settings)));
    expect(rows).toHaveLength(Object.keys(settings).length);
  });

  it("docs/reference/configuration.md states the defaults of the settings", () => {
    const config: Record<string, unknown> = { ...readConfig({}) };
    expect(config["PORT"]).toBe(8080);
    for (const [, name = "", value] of page.matchAll(/^\| `([A-Z0-9_]+)` \| `([^`]+)`/gm)) {
      if (config[name] !== undefined)
        expect(JSON.stringify(config[name]).replaceAll('"', ""), name).toBe(value);
    }
  });

  it("docs/reference/configuration.md shows a valid configuration file", () => {
    const yaml = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
    expect(configFileSchema.safeParse(parse(yaml)).error).toBeUndefined();
  });
});
