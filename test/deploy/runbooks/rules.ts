import { readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { ROOT } from "../../tooling/command.ts";

const FILE = path.join(ROOT, "deploy/prometheus/toolgate.rules.yml");

export const alertNames = z
  .object({ groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string() })) })) })
  .parse(parse(readFileSync(FILE, "utf8")))
  .groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));

/** Times in expressions that are no windows, and what is waited for instead. */
const THRESHOLDS = [
  ["toolgate_watch_age_seconds) > 60", "toolgate_watch_age_seconds) > 3"],
  ["> 3 * 3600", "> 10"],
  ["toolgate_webhooks_overdue_seconds) > 120", "toolgate_webhooks_overdue_seconds) > 3"],
  // Nothing waits half a minute for its credit here.
  ['toolgate_credit_delay_seconds_bucket{le="30"}', 'toolgate_credit_delay_seconds_bucket{le="2.5"}'],
] as const;

/** The rules with every window and `for` in seconds; nothing else differs. */
export function shortenedRules(): string {
  let text = readFileSync(FILE, "utf8");
  for (const [real, short] of THRESHOLDS) {
    if (!text.includes(real)) throw new Error(`no rule has ${real}`);
    text = text.replaceAll(real, short);
  }
  return text.replaceAll(/for: [1-9]\d*[mh]$/gm, "for: 1s").replaceAll(/\[\d+[mh]\]/g, "[8s]");
}
