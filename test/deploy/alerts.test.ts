import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { z } from "zod";
import { ROOT } from "../tooling/command.ts";
import { ALERT_CASES, promtoolTests } from "./alert-cases.ts";

const FOLDER = path.join(ROOT, "deploy/prometheus");
const RULES = path.join(FOLDER, "toolgate.rules.yml");
const run = promisify(execFile);
/** Debian: apt-get install prometheus. */
const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;

const alert = z.object({
  alert: z.string(),
  labels: z.object({ severity: z.enum(["page", "ticket"]) }),
  annotations: z.object({ summary: z.string(), runbook_url: z.string() }),
});
const alerts = z
  .object({ groups: z.array(z.object({ rules: z.array(alert) })) })
  .parse(parse(readFileSync(RULES, "utf8")))
  .groups.flatMap(({ rules }) => rules);

it("names a runbook page for each alert, and each page is of an alert", () => {
  const pages = readdirSync(path.join(ROOT, "docs/runbooks")).filter((name) => name !== "README.md");
  expect(alerts.map(({ annotations }) => annotations.runbook_url).toSorted()).toEqual(
    pages.map((name) => `docs/runbooks/${name}`).toSorted(),
  );
  for (const { alert: name, annotations } of alerts) {
    const page = readFileSync(path.join(ROOT, annotations.runbook_url), "utf8");
    expect(page.match(/^#.*$/gm), name).toEqual([`# ${name}`, "## Look", "## Do", "## Check that it worked"]);
  }
});

describe.skipIf(!hasPromtool)("promtool (apt-get install prometheus)", () => {
  it("accepts the configuration and its rules", async () => {
    const { stdout } = await run("promtool", ["check", "config", path.join(FOLDER, "prometheus.yml")]);
    expect(stdout).toContain(`${alerts.length} rules found`);
  });

  it("sees every alert fire and stay silent", async () => {
    expect(Object.keys(ALERT_CASES).toSorted()).toEqual(alerts.map(({ alert: name }) => name).toSorted());
    const folder = mkdtempSync(path.join(tmpdir(), "alerts-"));
    const files = promtoolTests(RULES).map((tests, index) => {
      const file = path.join(folder, `${index}.yml`);
      writeFileSync(file, stringify(tests));
      return file;
    });
    const { stdout } = await run("promtool", ["test", "rules", ...files]).finally(() =>
      rmSync(folder, { recursive: true }),
    );
    expect(stdout.match(/SUCCESS/g)).toHaveLength(files.length);
  });
});
