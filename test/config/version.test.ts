import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { VERSION } from "../../src/version.ts";

/** Places that name the project's version. `/health` and OpenAPI use VERSION. */
const PLACES = [
  ["package-lock.json", /^\{\s*"name": "toolgate",\s*"version": "([^"]+)"/],
  ["deploy/Containerfile", /^ARG VERSION=(\S+)$/m],
  ["deploy/kubernetes/gateway/base/kustomization.yaml", /^ {4}newTag: (\S+)$/m],
  ["deploy/server.json", /^ {2}"version": "([^"]+)",$/m],
  ["src/client/CHANGELOG.md", /^## \[(\d[^\]]*)\]/m],
  ["CHANGELOG.md", /^## \[(\d[^\]]*)\]/m],
] as const;

it.each(PLACES)("%s has the version of package.json", (file, pattern) => {
  expect(pattern.exec(readFileSync(file, "utf8"))?.[1]).toBe(VERSION);
});
