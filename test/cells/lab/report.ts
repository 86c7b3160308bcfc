import type { CellLab } from "./lab.ts";

/** What a run showed. */
export interface LabReport {
  readonly seed: number;
  readonly seconds: number;
  readonly customers: number;
  readonly answered: number;
  readonly moves: number;
  /** Attempts that were not answered, of customers whose cell was killed or whose account moved. */
  readonly refused: number;
  /** The same, of all others, by status: nothing may be. */
  readonly noticed: Readonly<Record<string, number>>;
  /** The slowest hundredth of other customers' calls in each phase, as a multiple of the calm phase's. */
  readonly p99: Readonly<Record<string, number>>;
  readonly broken: readonly string[];
}

export function reportOf(lab: CellLab, run: { seed: number; seconds: number }): LabReport {
  const { attempts, customers, broken, moved } = lab;
  const failed = attempts.filter(({ status }) => status !== 200);
  const noticed: Record<string, number> = {};
  for (const { status } of failed.filter(({ bystander }) => bystander))
    noticed[status] = (noticed[status] ?? 0) + 1;
  const slowest = (phase: string) =>
    p99(attempts.filter((one) => one.phase === phase && one.bystander).map(({ ms }) => ms));
  const calm = slowest("calm");
  return {
    ...run,
    customers: customers.length,
    answered: customers.reduce((sum, { answered }) => sum + answered.length, 0),
    moves: moved,
    refused: failed.filter(({ bystander }) => !bystander).length,
    noticed,
    p99: Object.fromEntries(
      ["moves", "kill"].map((phase) => [phase, Math.round((slowest(phase) / calm) * 100) / 100]),
    ),
    broken,
  };
}

export function reportText({ p99: slowest, broken, noticed, ...figures }: LabReport): string {
  const rows = [
    ...Object.entries(figures),
    ["noticed by others, by status", JSON.stringify(noticed)],
    ...Object.entries(slowest).map(([phase, ratio]) => [`p99 of others, ${phase} / calm`, ratio]),
    ["broken promises", broken.length],
  ];
  const width = Math.max(...rows.map(([name]) => String(name).length));
  const lines = rows.map(([name, value]) => `${String(name).padEnd(width)}  ${value}`);
  return [...lines, ...broken.map((line) => `BROKEN: ${line}`)].join("\n");
}

function p99(times: readonly number[]): number {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0;
}
