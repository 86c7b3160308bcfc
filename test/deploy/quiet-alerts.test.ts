import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { z } from "zod";
import { openGround } from "../instances/calls.ts";
import { ROOT } from "../tooling/command.ts";

const RULES = path.join(ROOT, "deploy/prometheus/toolgate.rules.yml");
const configuration = z.object({
  scrape_configs: z.array(z.object({ static_configs: z.array(z.object({ targets: z.array(z.string()) })) })),
});
const run = promisify(execFile);
const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;

/** When the scrape is, by promtool's clock, which starts at 0: a time of 0 is too old for an audit, s. */
const SCRAPED_AT = 4 * 3_600;
/** Between samples, s. */
const STEP = 300;
/** Half an hour. */
const SAMPLES = 6;

const { ground, serveHere } = await openGround();

/** The samples of an instance by series, as Prometheus stores them, without the lag of this machine. */
async function scrape(address: string, instance: string): Promise<Map<string, number>> {
  const text = await (await fetch(`http://${address}/metrics`)).text();
  const asked = new Set(readFileSync(RULES, "utf8").match(/\b(?:toolgate|process)_\w+/g));
  const now = Date.now() / 1_000;
  const series = new Map([[`up{job="toolgate",instance="${instance}"}`, 1]]);
  for (const [, name = "", labels = "", text_ = ""] of text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
    if (!asked.has(name)) continue;
    const own = labels === "" ? "" : `${labels},`;
    const value = Number(text_);
    const stamp = name.endsWith("_seconds") && value > 1e9;
    series.set(
      `${name}{${own}job="toolgate",instance="${instance}"}`,
      stamp ? value - now + SCRAPED_AT : value,
    );
  }
  return series;
}

/** A test of promtool: the samples stay for half an hour, after which exactly these alerts have fired. */
function halfAnHour(scrapes: readonly Map<string, number>[], alerts: readonly string[]): object {
  const [values, fired] = [`${STEP}s`, `ALERTS{alertstate="firing"}`];
  return {
    interval: values,
    input_series: scrapes.flatMap((series) =>
      Array.from(series, ([name, value]) => ({
        series: name,
        values: `_x${SCRAPED_AT / STEP} ${Array(SAMPLES + 1)
          .fill(value)
          .join(" ")}`,
      })),
    ),
    promql_expr_test: [
      {
        expr: `count by (alertname) (count_over_time(${fired}[30m]))`,
        eval_time: `${SCRAPED_AT + SAMPLES * STEP}s`,
        exp_samples: alerts.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
      },
    ],
  };
}

it("raises no alert while the two instances of the tutorial are quiet", async ({ skip }) => {
  if (!hasPromtool) return skip("promtool is not installed: apt-get install prometheus");
  const page = readFileSync(path.join(ROOT, "docs/tutorials/production.md"), "utf8");
  const ports = Array.from(page.matchAll(/METRICS_PORT=(\d+)/g), ([, port]) => `127.0.0.1:${port}`);
  const [job] = configuration.parse(
    parse(readFileSync(path.join(ROOT, "deploy/prometheus/prometheus.yml"), "utf8")),
  ).scrape_configs;
  const targets = job!.static_configs.flatMap((one) => one.targets);
  expect(targets).toEqual(ports);

  const settings = { ...ground.settings, METRICS_PORT: "0" };
  const instances = [await serveHere(settings), await serveHere(settings)];
  const scrapes = () =>
    Promise.all(instances.map(({ metricsAddress }, at) => scrape(metricsAddress!, targets[at]!)));
  const has = (series: Map<string, number>, part: string, holds: (value: number) => boolean) =>
    [...series].some(([name, value]) => name.includes(part) && holds(value));
  const leads = (series: Map<string, number>) => has(series, "keeper_leading", (value) => value === 1);
  // Nothing is left of the start.
  const settled = (series: Map<string, number>) =>
    !has(series, 'check="', (value) => value !== 1) &&
    !has(series, "fee_payer_lamports", (value) => value === 0) &&
    has(series, "watch_age", (value) => value < 30);
  let quiet = await scrapes();
  const state = async () => {
    quiet = await scrapes();
    return { leaders: quiet.filter(leads).length, settled: quiet.every(settled) };
  };
  await expect.poll(state).toEqual({ leaders: 1, settled: true });
  const idle = quiet.filter((series) => !leads(series));

  const folder = mkdtempSync(path.join(tmpdir(), "alerts-"));
  const file = path.join(folder, "quiet.yml");
  // One that is not scraped may be the leader.
  const tests = [halfAnHour(quiet, []), halfAnHour(idle, ["ToolgateNoLeader"])];
  writeFileSync(file, stringify({ rule_files: [RULES], evaluation_interval: `${STEP}s`, tests }));
  const { stdout } = await run("promtool", ["test", "rules", file]).finally(() =>
    rmSync(folder, { recursive: true }),
  );
  expect(stdout).toContain("SUCCESS");
});
