import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { ROOT } from "../tooling/command.ts";

export interface Query {
  readonly from: string;
  readonly metric: string;
  /** Labels that it selects or groups by. */
  readonly labels: readonly string[];
}

const dashboard = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })),
});
const rules = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string() })) })),
});
const METRIC = /\b((?:toolgate|nodejs|process)_\w+|up)(?:\{([^}]*)\})?/g;
const GROUPED = /\bby \(([^)]*)\)/g;

/** The names of labels in a selector or a sample. */
export function labelsOf(selector: string): string[] {
  return [...selector.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, name = ""]) => name);
}

/** A question to Prometheus, and the file and panel or alert that has it. */
interface Expression {
  readonly from: string;
  readonly expr: string;
}

export function expressions(): Expression[] {
  const panels = globSync("deploy/grafana/*.json", { cwd: ROOT }).flatMap((file) => {
    const { panels } = dashboard.parse(JSON.parse(readFileSync(path.join(ROOT, file), "utf8")));
    return panels.flatMap(({ title, targets }) =>
      targets.map(({ expr }) => ({ from: `${file}, ${title}`, expr })),
    );
  });
  const file = "deploy/prometheus/toolgate.rules.yml";
  const { groups } = rules.parse(parse(readFileSync(path.join(ROOT, file), "utf8")));
  const alerts = groups.flatMap((group) =>
    group.rules.map(({ alert, expr }) => ({ from: `${file}, ${alert}`, expr })),
  );
  return [...panels, ...alerts];
}

/** Everything that {@link expressions} ask for. */
export function queries(): Query[] {
  return expressions()
    .flatMap(queriesOf)
    .filter(({ metric }) => metric !== "up");
}

function queriesOf({ from, expr }: Expression): Query[] {
  const grouped = [...expr.matchAll(GROUPED)].flatMap(([, names = ""]) => names.split(/,\s*/));
  return [...expr.matchAll(METRIC)].map(([, metric = "", selector = ""]) => ({
    from,
    metric,
    labels: [...labelsOf(selector), ...grouped],
  }));
}
