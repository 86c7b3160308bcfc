import type { MicroUsd } from "../../domain/core/money.ts";
import type { AuditFinding } from "../operations/audit.ts";

export interface MoveSide {
  /** Reference of its clearing entries. */
  readonly reference: string;
  readonly accountId: string;
  readonly otherCell: number;
  /** Micro-USD; negative for a debt. */
  readonly amount: MicroUsd;
  readonly movedAt: Date;
}

/** What `fleet status` shows of a cell. */
export interface CellFigures {
  /** Version of the schema, and of PostgreSQL. */
  readonly schema: number;
  readonly postgres: string;
  /** Gateways that hold a session lock. */
  readonly gateways: number;
  readonly standbys: number;
  readonly synchronousStandbys: number;
  /** Of the slowest standby, ms; undefined without one, and where the role may not see it. */
  readonly lagMs: number | undefined;
  readonly accounts: number;
  readonly moved: number;
  /** Moves to finish, and accounts with money that reached them after they moved. */
  readonly unfinished: number;
  /** Owed to account holders, micro-USD. */
  readonly liabilities: MicroUsd;
  /** What the ledger expects in its treasuries, micro-USD. */
  readonly expected: MicroUsd;
  /** What other cells owe this one, micro-USD; negative: what it owes. */
  readonly clearing: MicroUsd;
}

export interface CellReports {
  figures(): Promise<CellFigures>;
  arrivals(): Promise<MoveSide[]>;
  departures(): Promise<MoveSide[]>;
  /** Accounts that are here and have moved before. */
  returned(): Promise<string[]>;
  /** Token accounts of its treasuries (base58), and what the statement says that each holds, micro-USD. */
  treasuries(): Promise<{ readonly tokenAccount: string; readonly expected: MicroUsd }[]>;
}

interface NumberedReports {
  readonly cell: number;
  readonly reports: CellReports;
}

/** How long a move may be under way before it is a violation, ms. */
const UNDER_WAY_MS = 60_000;

/**
 * Checks what no cell can check alone: that each move was booked in both its cells, that clearing adds up to
 * nothing, and that each account is in one cell.
 * @param now ms
 */
export async function auditFleet(cells: readonly NumberedReports[], now: number): Promise<AuditFinding[]> {
  // Arrivals first: what arrives after that is only found as a departure.
  const arrivals = await sidesOf(cells, (reports) => reports.arrivals());
  const departures = await sidesOf(cells, (reports) => reports.departures());
  const left = new Map(departures.map((side) => [side.reference, side]));
  const arrived = new Map(arrivals.map((side) => [side.reference, side]));
  const isWrong = (reference: string) => {
    const [out, there] = [left.get(reference), arrived.get(reference)];
    if (!out) return true;
    if (!there) return now - out.movedAt.getTime() > UNDER_WAY_MS;
    return there.amount !== out.amount || there.otherCell !== out.cell || out.otherCell !== there.cell;
  };
  const references = new Set([...left.keys(), ...arrived.keys()]);
  const homes = await Promise.all(cells.map(({ reports }) => reports.returned()));
  const seen = new Map<string, number>();
  for (const account of homes.flat()) seen.set(account, (seen.get(account) ?? 0) + 1);
  const underWay = departures.filter(({ reference }) => !arrived.has(reference));
  const cleared = sum(departures) - sum(arrivals) - sum(underWay);
  return [
    {
      name: "moves",
      description: "each move between cells was booked in both, with one amount, or left within a minute",
      checked: BigInt(references.size),
      violations: BigInt([...references].filter(isWrong).length),
    },
    {
      name: "clearing",
      description: "the clearing accounts of all cells add up to nothing but moves that are under way",
      checked: BigInt(cells.length),
      violations: cleared === 0n ? 0n : 1n,
    },
    {
      name: "homes",
      description: "each account that has moved is in one cell",
      checked: BigInt(seen.size),
      violations: BigInt([...seen.values()].filter((count) => count > 1).length),
    },
  ];
}

async function sidesOf(
  cells: readonly NumberedReports[],
  read: (reports: CellReports) => Promise<MoveSide[]>,
): Promise<(MoveSide & { readonly cell: number })[]> {
  const sides = await Promise.all(
    cells.map(async ({ cell, reports }) => (await read(reports)).map((side) => ({ ...side, cell }))),
  );
  return sides.flat();
}

function sum(sides: readonly MoveSide[]): MicroUsd {
  return sides.reduce((total, { amount }) => total + amount, 0n);
}
