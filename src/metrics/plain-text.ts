const EXEMPLAR = / # \{.*$/;
const COUNTER = /^# TYPE (\S+) counter$/;

/**
 * Turns OpenMetrics into the Prometheus text format: names of counters end with `_total` in comments too, and
 * there are no exemplars and no end mark.
 */
export function plainText(openMetrics: string): string {
  const lines = openMetrics.split("\n").filter((line) => line !== "# EOF");
  return lines.map((line, index) => plainLine(line, lines[index + 1])).join("\n");
}

function plainLine(line: string, next: string | undefined): string {
  if (!line.startsWith("#")) return line.includes(" # ") ? line.replace(EXEMPLAR, "") : line;
  if (COUNTER.test(line)) return line.replace(COUNTER, "# TYPE $1_total counter");
  const counted = next === undefined ? null : COUNTER.exec(next);
  const [, name] = counted ?? [];
  return name !== undefined && line.startsWith(`# HELP ${name} `)
    ? line.replace(name, `${name}_total`)
    : line;
}
