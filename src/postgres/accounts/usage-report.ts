import type { Usage, UsageDimension, UsageReport, UsageSeries } from "../../app/accounts/usage.ts";
import { latencyOf } from "../../domain/calls/latency.ts";
import { idFromUuid } from "../database/row-mapping.ts";
import { errorCodeOf } from "../ledger/error-codes.ts";
import { NO_KEY } from "./usage-sql.ts";

/** Result row of {@link USAGE}. */
export interface FigureRow {
  /** One bit per column that the row is not grouped by. */
  dimension: number;
  bucket: Date | null;
  tool: string | null;
  key_id: string | null;
  model: string | null;
  code: string | null;
  series: string | null;
  charged: bigint;
  spent: bigint;
  failed: bigint;
  /** By class; numbers as text. */
  latency: string[];
}

export interface KeyRow {
  id: string;
  name: string;
}

const BY_BUCKET = 0b011111;
const BY_TOOL = 0b101111;
const BY_KEY = 0b110111;
const BY_MODEL = 0b111011;
const BY_CODE = 0b111101;
const ALL = 0b111111;
const BY_SERIES = 0b011110;

interface Shape {
  /** Start of each bucket. */
  readonly starts: readonly Date[];
  readonly names: readonly KeyRow[];
  readonly by: UsageDimension | undefined;
}

export function reportOf(rows: readonly FigureRow[], { starts, names, by }: Shape): UsageReport {
  const of = (dimension: number) => rows.filter((row) => row.dimension === dimension);
  const buckets = new Map(of(BY_BUCKET).map((row) => [row.bucket?.getTime(), row]));
  const keyNames = new Map(names.map(({ id, name }) => [id, name]));
  return {
    buckets: starts.map((start) => {
      const row = buckets.get(start.getTime());
      return { start, usage: usageOf(row), latency: row && latencyOf(row.latency.map(BigInt)) };
    }),
    series: by ? seriesOf(of(BY_SERIES), starts, by) : [],
    tools: of(BY_TOOL)
      .map((row) => ({ tool: row.tool ?? "", usage: usageOf(row) }))
      .sort(mostSpentFirst),
    keys: of(BY_KEY)
      .map((row) => ({
        keyId: keyIdOf(row.key_id),
        name: keyNames.get(row.key_id ?? "") ?? "",
        usage: usageOf(row),
      }))
      .sort(mostSpentFirst),
    models: of(BY_MODEL)
      .map((row) => ({ model: row.model ?? "", usage: usageOf(row) }))
      .sort(mostSpentFirst),
    failures: failuresOf(of(BY_CODE)),
    total: usageOf(of(ALL)[0]),
  };
}

function seriesOf(rows: readonly FigureRow[], starts: readonly Date[], by: UsageDimension): UsageSeries[] {
  const places = new Map(starts.map((start, place) => [start.getTime(), place]));
  const found = new Map<string | null, Usage[]>();
  for (const row of rows) {
    const usage = found.get(row.series) ?? starts.map(() => usageOf(undefined));
    found.set(row.series, usage);
    const place = places.get(row.bucket?.getTime() ?? Number.NaN);
    if (place !== undefined) usage[place] = usageOf(row);
  }
  const series = [...found].map(([value, usage]) => ({
    value: valueOf(value, by),
    usage,
    sum: sumOf(usage),
  }));
  return series
    .sort(
      (a, b) =>
        Number(a.value === undefined) - Number(b.value === undefined) ||
        mostSpentFirst({ usage: a.sum }, { usage: b.sum }),
    )
    .map(({ value, usage }) => ({ value, usage }));
}

function valueOf(series: string | null, by: UsageDimension): string | undefined {
  if (series === null) return undefined;
  if (by === "key") return keyIdOf(series) ?? "";
  return by === "outcome" && series !== "" ? errorCodeOf(series) : series;
}

function keyIdOf(uuid: string | null): string | undefined {
  return uuid === null || uuid === NO_KEY ? undefined : idFromUuid("key", uuid);
}

function usageOf(row: FigureRow | undefined): Usage {
  return { charged: row?.charged ?? 0n, spent: row?.spent ?? 0n, failed: row?.failed ?? 0n };
}

function sumOf(usage: readonly Usage[]): Usage {
  return usage.reduce((sum, { charged, spent, failed }) => ({
    charged: sum.charged + charged,
    spent: sum.spent + spent,
    failed: sum.failed + failed,
  }));
}

function failuresOf(rows: readonly FigureRow[]): UsageReport["failures"] {
  const byCode = new Map<ReturnType<typeof errorCodeOf>, bigint>();
  for (const { code, failed } of rows) {
    if (failed === 0n) continue;
    const known = errorCodeOf(code ?? "");
    byCode.set(known, (byCode.get(known) ?? 0n) + failed);
  }
  return [...byCode].map(([code, calls]) => ({ code, calls })).sort((a, b) => order(b.calls, a.calls));
}

function mostSpentFirst(a: { usage: Usage }, b: { usage: Usage }): number {
  return (
    order(b.usage.spent, a.usage.spent) ||
    order(b.usage.charged + b.usage.failed, a.usage.charged + a.usage.failed)
  );
}

function order(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
