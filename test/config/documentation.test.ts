import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { configFileSchema } from "../../src/config/config-file.ts";

const page = readFileSync("docs/reference/configuration.md", "utf8");

it("docs/reference/configuration.md shows a valid configuration file", () => {
  const yaml = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  expect(configFileSchema.safeParse(parse(yaml)).error).toBeUndefined();
});
